"""Fill the disk or use up the quota while objectives save: trials are handed back, none fails."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np

import priorband as pb
from faults.audit import Audit
from faults.commands import (
    FOLDER,
    PLANT,
    command_line,
    environment,
    printed,
    shared_log,
    started_command,
    study_words,
    wait_for,
)
from faults.full_disk import small_disk, use_all_space
from faults.parallel import fork_process
from faults.planted_bugs import plant_bug
from faults.results import (
    Check,
    MissingRequirement,
    Result,
    expect_below,
    expect_none,
    results_of,
)
from faults.study_setup import EPOCHS, ROOT, SPACE, Setting, StudySetup, new_setup
from faults.training import loss
from faults.worker_pool import wait_until

FIDELITY = EPOCHS
OBJECTIVE = ("--objective", "faults.no_space:saves")
__all__ = ["FIDELITY", "SPACE", "run", "saves"]
PLACE = "PRIORBAND_FAULTS_PLACE"
"""The environment variable that names a folder to save to, other than the checkpoint's."""
MODEL = 500_000  # bytes
FREE = 150_000  # bytes that are left for the study's own files
BY_HAND = 5  # trials that are told by hand

plant_bug(os.environ.get(PLANT, ""))


def _write(path: Path) -> None:
    path.write_bytes(bytes(MODEL))


def _write_with_numpy(path: Path) -> None:
    np.save(path, np.zeros(MODEL // 8))


def _write_and_wrap(path: Path) -> None:
    try:
        path.write_bytes(bytes(MODEL))
    except OSError as error:
        raise RuntimeError("the model could not be saved") from error


WAYS: tuple[Callable[[Path], None], ...] = (_write, _write_with_numpy, _write_and_wrap)


def saves(trial: pb.Attempt) -> float:
    """Save in each step, in another way for each trial."""
    shared_log().write("start", trial.id, trial.attempt, worker_pid=0)
    save, elsewhere = WAYS[trial.id % len(WAYS)], os.environ.get(PLACE)
    for step in trial.steps():
        if elsewhere:
            save(Path(elsewhere) / "model.npy")
        elif trial.id % 2:
            with trial.checkpoint(step) as folder:
                save(folder / "model.npy")
        else:
            save(trial.checkpoint_dir / "model.npy")
    result = loss(trial)
    shared_log().write("done", trial.id, trial.attempt, loss=result)
    return result


def run(setting: Setting, *, seconds: float, trials: int, workers: int) -> Iterator[Result]:
    """A full disk with the study on it; then one for the objective alone; then a quota."""
    with new_setup(setting) as outside, small_disk(outside.folder / "disk") as disk:
        yield from FullDisk(outside, disk, on_disk=True).results(seconds, trials, workers)
    with new_setup(setting) as outside, small_disk(outside.folder / "disk") as disk:
        yield from FullDisk(outside, disk, on_disk=False).results(seconds, trials, workers)
    with new_setup(setting) as setup:
        yield from _quota(setup, trials)


@final
class FullDisk:
    """A small disk that is full for some time while workers train."""

    def __init__(self, outside: StudySetup, disk: Path, on_disk: bool) -> None:
        """With `on_disk`, the study is on the small disk, or its checkpoints if it has a server."""
        where = outside.where
        if on_disk and "://" not in where:
            where = str(disk / "study")
        self.setup = StudySetup(outside.folder, where, outside.setting)
        self.disk = disk
        self.on_disk = on_disk
        self.folder = disk / "checkpoints" if on_disk else outside.folder / "checkpoints"
        self.filler = disk / "filler"

    def results(self, seconds: float, trials: int, workers: int) -> Iterator[Result]:
        """Fill the disk, start workers and a process that tells by hand, and free the disk."""
        setup, place = self.setup, {} if self.on_disk else {PLACE: str(self.disk)}
        os.environ[FOLDER] = str(setup.folder)
        opening: dict[str, Any] = setup.open_arguments()
        if "folder" in opening:
            opening["folder"] = self.folder
        with pb.open_study(**opening) as study:
            study.limit(pb.Budget(trials=trials))
            by_hand = [study.ask(hold=3600).id for _ in range(BY_HAND)]
        use_all_space(self.filler)
        os.truncate(self.filler, self.filler.stat().st_size - FREE)
        words = ("worker", *study_words(setup, self.folder), *OBJECTIVE)
        more = ("--workers", workers, "--plain", "--leave")
        with started_command(setup, *words, *more, **place) as process:
            wait_until(
                lambda: self._started() >= 2 * workers or _has_trouble(process),
                "trials handed back",
            )
            use_all_space(self.filler)
            telling = fork_process(partial(self._tell, opening, by_hand))
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                use_all_space(self.filler)
                time.sleep(0.1)
            told_before = len(self._told())
            freed = time.monotonic()
            self.filler.unlink()
            ended = wait_for(process)
            os.waitpid(telling, 0)
        yield from results_of(
            "nospace",
            setup.setting.storage,
            f"{'study' if self.on_disk else 'scratch'} disk full for {seconds:g} s",
            self._checks(opening, ended.code, told_before, freed).values(),
        )

    def _tell(self, opening: dict[str, Any], trials: list[int]) -> None:
        plant_bug(self.setup.setting.plant)
        with pb.open_study(**opening) as study:
            for trial in trials:
                study.tell(trial, 0.25)
                self.setup.log.write("told by hand", trial)
                time.sleep(0.1)

    def _told(self) -> list[int]:
        entries = self.setup.log.all_entries()
        return [entry.trial for entry in entries if entry.event == "told by hand"]

    def _started(self) -> int:
        return sum(entry.event == "start" for entry in self.setup.log.all_entries())

    def _checks(
        self, opening: dict[str, Any], code: int | None, told_before: int, freed: float
    ) -> dict[str, Check]:
        with pb.open_study(**opening) as study:
            audit = Audit(self.setup.log, study)
            asked, limit = len(audit.records_of("asked")), study.budget.limits["trials"]
        checks = _common_checks(audit, code)
        done = [entry.at for entry in audit.entries_of("done") if entry.at > freed]
        told = {r.trial for r in audit.records_of("told")}.intersection(self._told())
        text = f"{len(told)} told by hand, {told_before} of them while it was full"
        checks["by hand"] = Check(text, f"{BY_HAND}", len(told) == BY_HAND)
        checks["asked"] = Check(f"{asked} trials handed out", f"= {limit:g}", asked == limit)
        resumed = min(done, default=1e9) - freed
        checks["resumed"] = expect_below(resumed, 35, "first result after space was freed")
        return checks


def _has_trouble(process: "subprocess.Popen[bytes]") -> bool:
    """Whether the workers have ended, or wait for the study's own storage."""
    return process.poll() is not None or "Waiting for it" in printed(process)


def _common_checks(audit: Audit, code: int | None) -> dict[str, Check]:
    failed = [f"trial {r.trial}: {r.body['reason']}" for r in audit.records_of("failed")]
    returned = [r for r in audit.records_of("returned") if r.body["kind"] == "preempted"]
    others = [r.body["kind"] for r in audit.records_of("returned") if r not in returned]
    return {
        "failed": expect_none(failed, "trials failed", len(audit.records_of("asked"))),
        "returned": Check(f"{len(returned)} times handed back", "> 0", bool(returned)),
        "others": expect_none(others, "attempts ended in another way"),
        "unfinished": audit.unfinished_trials(),
        "code": Check(f"workers ended with {code}", "0", code == 0),
        "replay": audit.replay_exact(),
    }


def _quota(setup: StudySetup, trials: int) -> Iterator[Result]:
    """The first writes of the model fail with EDQUOT, as a real quota would make them fail."""
    storage = setup.setting.storage
    if shutil.which("strace") is None:
        raise MissingRequirement("strace is not installed, which stands for a quota")
    place, fails = setup.folder / "place", 6
    place.mkdir()
    with setup.study() as study:
        study.limit(pb.Budget(trials=trials))
    inject = f"inject=write:error=EDQUOT:when=1..{fails}"
    strace = ["strace", "-f", "-qq", "-o", str(setup.folder / "calls"), "-P", place / "model.npy"]
    words = ("worker", *study_words(setup), *OBJECTIVE, "--same-process", "--plain")
    command = [*map(str, strace), "-e", inject, *command_line(setup, *words)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(setup, **{PLACE: place}),
        capture_output=True,
        text=True,
        timeout=300,
    )
    with setup.study(read_only=True) as study:
        audit = Audit(setup.log, study)
    injected = (setup.folder / "calls").read_text().count("EDQUOT")
    if not injected:
        raise MissingRequirement(f"strace cannot inject errors here: {done.stderr[-200:]}")
    action = f"{injected} writes refused with EDQUOT"
    yield from results_of(
        "nospace", storage, action, _common_checks(audit, done.returncode).values()
    )
