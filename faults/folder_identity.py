"""Exchange, rename and share the folders of studies: none may use the checkpoints of another."""

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, final

from faults.commands import Done, printed, run_command, started_command, study_words, wait_for
from faults.parallel import run_in_parallel
from faults.results import Result, expect_none, results_of
from faults.saving_objective import HOLD, HOW, WHO
from faults.study_setup import (
    Setting,
    StudySetup,
    execute_on_shared_server,
    new_setup,
    start_shared_server,
)
from faults.worker_log import LogEntry
from faults.worker_pool import wait_until

OBJECTIVE = ("--objective", "faults.saving_objective:saves")
WAYS = ("if it exists", "insists", "creates")

Tree = dict[str, bytes]


def run(setting: Setting, *, rounds: int, trials: int) -> Iterator[Result]:
    """Each mistake that people make with folders, and renames in the middle of a training."""
    start_shared_server(setting)
    cases: dict[str, list[Callable[[], Scene]]] = {
        "a folder that does not exist yet": [partial(_new_folders, setting, trials)],
        "records deleted, trials/ left": [partial(_deleted_records, setting, trials)],
        "renamed in a training": [
            partial(_renamed, setting, trials, number, waits)
            for number in range(rounds)
            for waits in ((True, False) if setting.storage == "sqlite" else (False,))
        ],
    }
    if setting.storage == "postgres":
        cases["two studies with one --folder"] = [partial(_shared_folder, setting, trials)]
    else:
        cases["records of another study"] = [partial(_exchanged, setting, trials)]
    scenes = iter(run_in_parallel([scene for group in cases.values() for scene in group]))
    for title, group in cases.items():
        yield from _results(setting, title, [next(scenes) for _ in group])


def _results(setting: Setting, title: str, scenes: list["Scene"]) -> Iterator[Result]:
    resumed = sum(scene.resumed for scene in scenes)
    wrong = [text for scene in scenes for text in scene.wrongly_resumed]
    files = sum(scene.files for scene in scenes)
    changed = [text for scene in scenes for text in scene.changed]
    problems = [text for scene in scenes for text in scene.problems]
    steps = sum(scene.steps for scene in scenes)
    yield from results_of(
        "identity",
        setting.storage,
        f"{title}, {len(scenes)} times" if len(scenes) > 1 else title,
        [
            expect_none(wrong, "checkpoints resumed by the wrong study", resumed),
            expect_none(changed, "files of other studies changed", files),
            expect_none(problems, "steps with another outcome than they should", steps),
        ],
    )


@final
class Scene:
    """Studies beside each other, and what went wrong with them."""

    def __init__(self, setup: StudySetup) -> None:
        self.setup = setup
        self.files = 0
        self.changed: list[str] = []
        self.steps = 0
        self.problems: list[str] = []
        self.resumed = 0
        self.wrongly_resumed: list[str] = []

    def other(self, name: str) -> StudySetup:
        """Another study of the same storage, in the same folder of the fault."""
        setup = self.setup
        where = f"{setup.where}-{name}" if "://" in setup.where else str(setup.folder / name)
        return StudySetup(setup.folder, where, setup.setting)

    def expect(self, holds: bool, what: str) -> None:
        """Note a step, and what is wrong unless a condition holds."""
        self.steps += 1
        if not holds:
            self.problems.append(what)

    def expect_done(self, done: Done, what: str) -> None:
        """Note a command that must succeed."""
        self.expect(done.code == 0 and not done.problem, f"{what}: {done.last_words}")

    def expect_refused(self, done: Done, *words: str) -> None:
        """Note a command that must fail, with words that say why and what to do."""
        missing = [word for word in words if word not in " ".join(done.output.split())]
        refused = done.code == 1 and not done.problem
        self.expect(refused and not missing, f"not refused as it should: {done.last_words}")

    @contextmanager
    def unchanged(self, folder: Path) -> Iterator[None]:
        """Note which files below a folder are changed, removed or added in the block."""
        before = _tree(folder)
        yield
        after = _tree(folder)
        self.files += len(before)
        self.changed += [name for name in {*before, *after} if before.get(name) != after.get(name)]

    def close(self) -> "Scene":
        """Count the checkpoints that were resumed, while the log is there."""
        entries = self.setup.log.all_entries()
        resumed = [entry for entry in entries if entry.event == "resumed"]
        self.resumed = len(resumed)
        self.wrongly_resumed = [
            f"trial {e.trial} of {e.details['who']}: {e.details['found']}"
            for e in resumed
            if not e.details["right"]
        ]
        return self


def _tree(folder: Path) -> Tree:
    """All files below a folder; those of SQLite and locks may change at any time."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if not path.name.startswith(("study.db", "study.lock", "study.snapshot"))
    }


def _work(
    setup: StudySetup, who: str, trials: int, *words: object, folder: Path | None = None
) -> Done:
    """Run a study until it has some trials."""
    command = ("run", *study_words(setup, folder), *OBJECTIVE, "--trials", trials, *words)
    return run_command(setup, *command, "--same-process", "--keep=all", **_who(who))


def _who(who: str, how: str = "insists", hold: int = 0) -> dict[str, Any]:
    return {WHO: who, HOW: how, HOLD: str(hold)}


def _new_folders(setting: Setting, trials: int) -> Scene:
    """A folder whose parents do not exist either; and the default one of a study in a database."""
    with new_setup(setting) as setup:
        scene = Scene(setup)
        one, deep = scene.other("one"), setup.folder / "deep" / "down" / "here"
        if setting.storage == "sqlite":
            one.where = str(deep)
        scene.expect_done(_work(one, "one", trials, folder=deep), "a deep folder")
        scene.expect(any(deep.glob("trials/0/1-*/checkpoint/owner")), "no checkpoint")
        two = scene.other("two")
        words = [two.where if setting.storage == "postgres" else "two"]
        more = ("--trials", trials, "--same-process", "--keep=all")
        command = ("run", *words, *OBJECTIVE, *more)
        done = run_command(two, *command, cwd=setup.folder, **_who("two"))
        scene.expect_done(done, "the default folder")
        scene.expect(any(setup.folder.glob("*two*/trials/0/1-*/checkpoint/owner")), "none there")
        return scene.close()


def _deleted_records(setting: Setting, trials: int) -> Scene:
    """The records of a study are deleted, and a new one is created in its place."""
    with new_setup(setting) as setup:
        scene, folder = Scene(setup), _folder(setup)
        scene.expect_done(_work(setup, "old", trials, "--seed=1"), "the old study")
        if setting.storage == "postgres":
            name = f"priorband {setup.where.partition('#')[2]}"
            execute_on_shared_server(f'DROP SCHEMA "{name}" CASCADE')
        else:
            (folder / "study.db").unlink()
            with scene.unchanged(folder / "trials"):
                done = _work(setup, "new", trials, "--seed=2")
                scene.expect_refused(done, "study.db is missing or empty", "salvage")
            (folder / "study.head").unlink()
        with scene.unchanged(folder / "trials"):
            done = _work(setup, "new", trials, "--seed=2")
            scene.expect_refused(done, "holds the checkpoints", "another folder", "--folder")
            status = run_command(setup, "status", setup.where)
            scene.expect_refused(status, "There is no study")
        shutil.move(folder / "trials", setup.folder / "kept")
        scene.expect_done(_work(setup, "new", trials, "--seed=2"), "after trials/ was moved")
        return scene.close()


def _shared_folder(setting: Setting, trials: int) -> Scene:
    """Two studies in a database are given the same folder."""
    with new_setup(setting) as setup:
        scene, folder = Scene(setup), setup.folder / "checkpoints"
        one, two = scene.other("one"), scene.other("two")
        scene.expect_done(_work(one, "one", trials, "--seed=1"), "the first")
        words = ("belongs to", one.where.partition("#")[2], "--folder")
        with scene.unchanged(folder):
            created = _work(two, "two", trials, "--seed=2")
            scene.expect_refused(created, "holds the checkpoints", *words[1:])
            scene.expect_refused(run_command(two, "status", two.where), "There is no study")
        elsewhere = setup.folder / "elsewhere"
        done = _work(two, "two", 2, "--seed=2", folder=elsewhere)
        scene.expect_done(done, "the second, elsewhere")
        with scene.unchanged(folder):
            scene.expect_refused(_work(two, "two", trials), *words)
            worker = ("worker", *study_words(two), *OBJECTIVE)
            scene.expect_refused(run_command(two, *worker, **_who("two")), *words)
        done = _work(two, "two", trials, "--seed=2", folder=elsewhere)
        scene.expect_done(done, "the second, again")
        return scene.close()


def _exchanged(setting: Setting, trials: int) -> Scene:
    """study.db and study.head are exchanged for those of another study."""
    with new_setup(setting) as setup:
        scene = Scene(setup)
        one, two = scene.other("one"), scene.other("two")
        scene.expect_done(_work(one, "one", trials, "--seed=1"), "the first")
        scene.expect_done(_work(two, "two", trials, "--seed=2"), "the second")
        own = setup.folder / "own"
        shutil.copytree(one.where, own)
        for name in ("study.db", "study.head"):
            shutil.copy(Path(two.where, name), Path(one.where, name))
        with scene.unchanged(Path(one.where, "trials")):
            words = ("Were study.db and study.head exchanged?", "Put the files of one study back")
            scene.expect_refused(_work(one, "mixed", trials + 4), *words)
            worker = ("worker", one.where, *OBJECTIVE)
            scene.expect_refused(run_command(one, *worker, **_who("mixed")), *words)
        for name in ("study.db", "study.head"):
            shutil.copy(own / name, Path(one.where, name))
        scene.expect_done(_work(one, "one", trials + 4), "the first, put together again")
        return scene.close()


def _renamed(setting: Setting, trials: int, number: int, waits: bool) -> Scene:
    """The folder is renamed in the middle of a training, and another study takes its place."""
    chance = random.Random(f"{setting.seed} {number} {waits}")
    how, hold = WAYS[number % len(WAYS)], chance.randint(2, trials - 2)
    with new_setup(setting) as setup:
        scene, folder = Scene(setup), _folder(setup)
        scene.expect_done(_work(setup, "old", 2, "--seed=1"), "the old study")
        (setup.folder / "hold-old").touch()
        patience = 300 if waits else 1
        words = ("run", *study_words(setup), *OBJECTIVE, "--trials", trials, "--keep=all")
        with started_command(
            setup, *words, "--patience", patience, **_who("old", how, hold)
        ) as process:
            wait_until(
                lambda: bool(_logged(setup, "holding")) or process.poll() is not None, "a hold"
            )
            new = scene.other("new") if setting.storage == "postgres" else setup
            moved = folder.rename(setup.folder / "moved")
            scene.expect_done(_work(new, "new", trials, "--seed=2", folder=folder), "the new one")
            with scene.unchanged(folder):
                (setup.folder / "hold-old").unlink()
                if waits:
                    wait_until(partial(_is_waiting, process), "the worker to wait")
                else:
                    ended = wait_for(process)
                    scene.expect(ended.code not in (0, None), f"did not notice: {ended.last_words}")
                _remove_created(folder, how)
            folder.rename(setup.folder / "new-moved")
            moved.rename(folder)
            if waits:
                scene.expect_done(wait_for(process), "the worker, after the folder was moved back")
        scene.expect_done(_work(setup, "old", trials), "the old study, continued")
        started = [e for e in _logged(setup, "start") if e.details["who"] == "old"]
        kept = {(e.trial, e.attempt) for e in _logged(setup, "done") if e.details["who"] == "old"}
        again = [e for e in started if (e.trial, e.attempt - 1) in kept]
        scene.expect(not again, f"trained again after a result: {again[:1]}")
        scene.expect_done(run_command(setup, "journal", "check", setup.where), "check of the old")
        if setting.storage == "sqlite":
            checked = run_command(setup, "journal", "check", setup.folder / "new-moved")
            scene.expect_done(checked, "check of the new")
        return scene.close()


def _remove_created(folder: Path, how: str) -> None:
    """Remove the folders that the objective itself has created by its path: they are no files of
    the study, which leaves them alone."""
    if how == "creates":
        own = (folder / "trials" / "study.json").read_text()
        for path in folder.glob("trials/*/*-????????"):
            if path.name.rpartition("-")[2] not in own:
                shutil.rmtree(path)


def _is_waiting(process: "subprocess.Popen[bytes]") -> bool:
    return "Waiting for it" in printed(process) or process.poll() is not None


def _logged(setup: StudySetup, event: str) -> list[LogEntry]:
    return [entry for entry in setup.log.all_entries() if entry.event == event]


def _folder(setup: StudySetup) -> Path:
    """Where the checkpoints of a study are."""
    return setup.folder / ("checkpoints" if "://" in setup.where else "study")
