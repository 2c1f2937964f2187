"""Remove, rename or replace files of a study while workers write: what is acknowledged is found."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import priorband as pb
from faults.audit import Audit
from faults.parallel import fork_process, run_in_parallel
from faults.planted_bugs import plant_bug
from faults.results import Check, Result, expect_none, results_of
from faults.study_setup import (
    Setting,
    StudySetup,
    execute_on_shared_server,
    new_setup,
    start_shared_server,
)
from faults.training import Training, loss
from faults.worker_log import LogEntry
from faults.worker_pool import WorkerPool, WorkerTask, running_pool, wait_until
from priorband.errors import ExhaustedError, PriorbandError
from priorband.storage.spool import VARIABLE
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

PATIENCE = 60.0  # of workers whose files come back
IMPATIENCE = 1.0  # of workers whose files do not
AWAY = 1.0  # seconds that files are away

Undo = Callable[[], object]


@final
@dataclass(frozen=True)
class Loss:
    """Something that happens to the files of a study while workers write."""

    description: str
    do: Callable[[StudySetup], Undo | None]
    """Does it, and returns what undoes it; None if nothing does."""
    ends: bool = False
    """Whether the workers must be started again afterwards."""
    gone: bool = False
    """Whether nothing may be acknowledged from then on."""
    may_fail: bool = False
    """Whether a trial that saves at that moment may fail."""


def _remove_folder(setup: StudySetup) -> None:
    while _folder(setup).exists():  # a worker may save at the same moment
        subprocess.run(["rm", "-rf", str(_folder(setup))], check=False, stderr=subprocess.DEVNULL)


def _rename_folder(setup: StudySetup) -> Undo:
    folder = _folder(setup)
    away = folder.rename(folder.with_name("away"))
    return lambda: away.rename(folder)


def _replace_folder(setup: StudySetup) -> Undo:
    """Another study takes the place of the study."""
    undo, folder = _rename_folder(setup), _folder(setup)
    arguments = setup.open_arguments() | {"seed": setup.setting.seed + 1}
    if "://" in setup.where:
        arguments["where"] = f"{setup.where}-other"
    with pb.open_study(**arguments) as other:
        other.limit(pb.Budget(trials=1))
        Worker(other, loss, WorkerOptions(start="same-process")).run()
        before = [row.seal for row in other.journal.read(0)]

    def put_back() -> None:
        try:
            with pb.open_study(arguments["where"], read_only=True) as found:
                after = [row.seal for row in found.journal.read(0)]
        except PriorbandError:
            after = []
        if after != before:
            setup.log.write("mixed")
        shutil.move(folder, setup.folder / "other")
        undo()

    return put_back


def _remove_database(setup: StudySetup) -> None:
    (_folder(setup) / "study.db").unlink()


def _rename_database(setup: StudySetup) -> Undo:
    path = _folder(setup) / "study.db"
    away = path.rename(setup.folder / "away.db")
    return lambda: away.rename(path)


def _replace_database(setup: StudySetup) -> Undo:
    """The database of another study takes its place, and later the old one comes back."""
    with pb.open_study(setup.folder / "other", **_problem(setup)) as other:
        other.tell(other.ask(), 0.5)
    undo = _rename_database(setup)
    shutil.copy(setup.folder / "other" / "study.db", _folder(setup) / "study.db")
    return undo


def _copy_database(setup: StudySetup) -> None:
    """A copy of the database takes its place, as some editors and synchronisers do it."""
    path, copy = _folder(setup) / "study.db", setup.folder / "copy.db"
    shutil.copy(path, copy)
    os.replace(copy, path)


def _remove_log(names: tuple[str, ...], setup: StudySetup) -> None:
    for name in names:
        (_folder(setup) / f"study.db-{name}").unlink(missing_ok=True)


def _replace_log(setup: StudySetup) -> None:
    """An empty file takes the place of the log."""
    (setup.folder / "empty").touch()
    os.replace(setup.folder / "empty", _folder(setup) / "study.db-wal")


def _remove_small_files(setup: StudySetup) -> None:
    for name in ("study.lock", "study.head", "study.snapshot"):
        (_folder(setup) / name).unlink(missing_ok=True)


def _drop_schema(setup: StudySetup) -> None:
    execute_on_shared_server(f"DROP SCHEMA {_schema(setup)} CASCADE")


def _rename_schema(setup: StudySetup) -> Undo:
    away = f'"away {os.urandom(4).hex()}"'
    execute_on_shared_server(f"ALTER SCHEMA {_schema(setup)} RENAME TO {away}")
    return lambda: execute_on_shared_server(f"ALTER SCHEMA {away} RENAME TO {_schema(setup)}")


LOSSES: Mapping[str, tuple[Loss, ...]] = {
    "sqlite": (
        Loss("rm -rf of the folder", _remove_folder, gone=True),
        Loss("folder renamed, and back", _rename_folder),
        Loss("folder replaced by another study, and back", _replace_folder),
        Loss("study.db removed", _remove_database, gone=True),
        Loss("study.db renamed, and back", _rename_database),
        Loss("study.db replaced by another study's, and back", _replace_database),
        Loss("study.db replaced by a copy", _copy_database, ends=True),
        Loss("log removed", partial(_remove_log, ("wal",)), ends=True),
        Loss("index of the log removed", partial(_remove_log, ("shm",)), ends=True),
        Loss("log and index removed", partial(_remove_log, ("wal", "shm")), ends=True),
        Loss("log replaced by an empty file", _replace_log, ends=True),
        Loss("study.lock, head and snapshot removed", _remove_small_files),
    ),
    "postgres": (
        Loss("schema dropped", _drop_schema, gone=True),
        Loss("schema renamed, and back", _rename_schema, ends=True),
        Loss("rm -rf of --folder", _remove_folder, ends=True, may_fail=True),
        Loss("--folder renamed, and back", _rename_folder, ends=True),
        Loss("--folder replaced by another study's, and back", _replace_folder, ends=True),
    ),
}


def run(setting: Setting, *, rounds: int, workers: int, trials: int) -> Iterator[Result]:
    """Each kind of loss, at random moments, while workers and a process by hand tell results."""
    start_shared_server(setting)
    losses = LOSSES[setting.storage]
    outcomes = iter(
        run_in_parallel(
            [
                partial(_round, setting, loss, number, workers, trials)
                for loss in losses
                for number in range(rounds)
            ],
            at_once=3,
        )
    )
    for one in losses:
        chosen = [next(outcomes) for _ in range(rounds)]
        action = f"{one.description}, {rounds} times" if rounds > 1 else one.description
        yield from results_of("unlinked", setting.storage, action, _checks(one, chosen))


@final
@dataclass(frozen=True)
class Outcome:
    """What was acknowledged in one round, and what a fresh reader finds of it."""

    acknowledged: int
    missing: list[str]
    """Acknowledged results that a fresh reader does not find."""
    late: list[str]
    """Results that were acknowledged after their study was gone."""
    problems: list[str]


def _checks(one: Loss, outcomes: list[Outcome]) -> Iterator[Check]:
    total = sum(outcome.acknowledged for outcome in outcomes)
    if one.gone:
        late = [text for outcome in outcomes for text in outcome.late]
        yield expect_none(late, "acknowledged after it was gone", total)
    else:
        missing = [text for outcome in outcomes for text in outcome.missing]
        yield expect_none(missing, "acknowledged results not found", total)
    problems = [text for outcome in outcomes for text in outcome.problems]
    yield expect_none(problems, "other problems")


def _round(setting: Setting, one: Loss, number: int, workers: int, trials: int) -> Outcome:
    chance = random.Random(f"{setting.seed} {one.description} {number}")
    with new_setup(setting) as setup:
        os.environ[VARIABLE] = str(setup.folder / "spool")
        with setup.study() as study:
            study.limit(pb.Budget(trials=trials))
        patience = PATIENCE if not (one.gone or one.ends) else IMPATIENCE
        training = Training(setup.log, seconds=0.1, checkpoints="://" in setup.where)
        options = WorkerOptions(start="same-process", patience=patience, keep="all")
        task = WorkerTask(setup.open_arguments(), training, setup.log, options, plant=setting.plant)
        with running_pool(task, workers) as pool:
            by_hand = fork_process(partial(_tell_by_hand, setup, patience))
            wait_until(lambda: _count(setup) > workers, "the first results")
            time.sleep(chance.random() * 1.5)
            problems, undo = list[str](), None
            try:
                undo = one.do(setup)
            except PriorbandError as error:  # something was written to another study
                problems.append(str(error))
            gone_at = time.monotonic()
            if undo is not None:
                time.sleep(chance.random() * AWAY)
                undo()
            ended = pool.wait(PATIENCE + 30)
            _, status = os.waitpid(by_hand, 0)
        problems += [] if ended else ["workers did not end"]
        problems += [f"the process by hand ended with status {status}"] if status else []
        if one.gone:
            return _outcome_of_gone(setup, gone_at, problems)
        return _outcome(setup, task, pool, one, problems)


def _tell_by_hand(setup: StudySetup, patience: float) -> None:
    """Ask and tell until the budget is used up, or storage stays away."""
    plant_bug(setup.setting.plant)
    with _logged_errors(setup), setup.study(patience=patience) as study:
        while True:
            trial = study.ask()
            attempt = study.heartbeat.attempt(trial.id) or 1
            setup.log.write("start", trial.id, attempt, worker_pid=os.getpid())
            result = loss(trial)
            time.sleep(0.02)
            setup.log.write("done", trial.id, attempt, loss=result)
            began = time.monotonic()
            if study.tell(trial, result):
                told = {"loss": result, "kind": "", "began": began}
                setup.log.write("acknowledged", trial.id, attempt, **told)


@contextmanager
def _logged_errors(setup: StudySetup) -> Iterator[None]:
    """Log an error that ends the process by hand; a budget that is used up is none."""
    try:
        yield
    except ExhaustedError:
        pass
    except PriorbandError as error:
        setup.log.write("broke", trace=str(error))


def _outcome_of_gone(setup: StudySetup, gone_at: float, problems: list[str]) -> Outcome:
    acknowledged = _acknowledged(setup)
    late = [f"trial {e.trial}" for e in acknowledged if e.details["began"] > gone_at]
    return Outcome(len(acknowledged), [], late, problems)


def _outcome(
    setup: StudySetup, task: WorkerTask, pool: WorkerPool, one: Loss, problems: list[str]
) -> Outcome:
    """What a fresh reader finds at once, and once the study is finished."""
    missing = _missing(setup)
    if one.ends:
        with running_pool(task, pool.size) as again:
            problems += [] if again.wait() else ["workers did not end after a restart"]
            problems += [f"exit code {code}" for code in again.exit_codes if code]
        missing += _missing(setup)
    try:
        with setup.study(read_only=True) as study:
            audit, limit = Audit(setup.log, study), study.budget.limits["trials"]
    except PriorbandError as error:
        return Outcome(len(_acknowledged(setup)), missing, [], [*problems, str(error)])
    mixed = ["another study was written to"] if audit.entries_of("mixed") else []
    for check in (audit.repeated_trials(), audit.unfinished_trials(), audit.replay_exact()):
        problems += [] if check.passed else [check.text]
    errors = audit.worker_errors(pool.exit_codes)
    problems += [] if one.ends or errors.passed else [errors.text]
    failed = [f"trial {r.trial} failed: {r.body['reason']}" for r in audit.records_of("failed")]
    failed = [] if one.may_fail else failed
    asked = len(audit.records_of("asked"))
    problems += mixed + failed + ([] if asked == limit else [f"{asked} trials of {limit}"])
    return Outcome(len(_acknowledged(setup)), missing, [], problems)


def _missing(setup: StudySetup) -> list[str]:
    """The acknowledged results that a fresh process does not find."""
    found, answer = setup.folder / f"found-{time.monotonic_ns()}", 0
    pid = fork_process(partial(_find, setup, found))
    _, answer = os.waitpid(pid, 0)
    if answer:
        return ["the study cannot be opened"]
    stored = {*found.read_text().splitlines()}
    return [
        f"trial {e.trial}, attempt {e.attempt}"
        for e in _acknowledged(setup)
        if f"{e.trial} {e.details['loss']!r}" not in stored
    ]


def _find(setup: StudySetup, answer: Path) -> None:
    with setup.study(read_only=True) as study:
        records = Audit(setup.log, study).records_of("told", "remark")
    answer.write_text("\n".join(f"{r.trial} {r.body.get('loss')!r}" for r in records))


def _acknowledged(setup: StudySetup) -> list[LogEntry]:
    return [
        entry
        for entry in setup.log.all_entries()
        if entry.event == "acknowledged" and entry.details["loss"] is not None
    ]


def _count(setup: StudySetup) -> int:
    return sum(entry.event == "acknowledged" for entry in setup.log.all_entries())


def _problem(setup: StudySetup) -> dict[str, Any]:
    arguments = setup.open_arguments()
    return {name: arguments[name] for name in ("space", "fidelity")}


def _folder(setup: StudySetup) -> Path:
    return setup.folder / ("checkpoints" if "://" in setup.where else "study")


def _schema(setup: StudySetup) -> str:
    return f'"priorband {setup.where.partition("#")[2]}"'
