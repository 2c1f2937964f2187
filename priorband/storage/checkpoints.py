"""The checkpoints of a study's trials, in folders on disk.

    trials/study.json                  which study all of this belongs to
    trials/17/1-9f3c2ab1/              attempt 1 of trial 17; complete once its result is told
        identity.json                  which study, trial, attempt and configuration this is
        checkpoint/                    what the objective saves: `trial.checkpoint_dir`
    trials/17/1.step-5-9f3c2ab1/       a copy from when step 5 was done; always complete
    trials/17/2.from-5-9f3c2ab1/       the same copy, taken over by attempt 2
    trials/17/curve-1.jsonl, log-1.txt

Each attempt has folders of its own, so a worker that was wrongly taken for dead cannot change the
checkpoints of its successor. Names are made of numbers and of the study's id, never of text from a
user.

A checkpoint is resumed only if it says that it is of the same study, trial and configuration. A
worker holds `trials/` open, so that it writes to the same folder if the study is renamed. The
objective is given paths; with the study's id in them, a path that it keeps leads nowhere once
another study is at the old place. Studies from before have folders such as `trials/17/1` and
`trials/17/1.step-5`, without an identity; `study.json` lists the trials in which they are accepted.
"""

import errno
import math
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import final

from priorband.errors import FormatError, MismatchError, StorageError
from priorband.storage.folder_owner import (
    TRIALS,
    FolderOwner,
    mark,
    owner,
    require_own,
    trial_numbers,
)
from priorband.storage.held_folder import HeldFolder, hold_folder
from priorband.storage.json_text import from_json, to_json

SAVED = "checkpoint"
IDENTITY = "identity.json"
_STEP = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_NAME = re.compile(rf"(\d+)(?:\.(step|from)-({_STEP})|\.(part))?(?:-([0-9a-f]{{8}}))?")
LONGEST_CURVE = 50_000_000  # bytes
_LONGEST_IDENTITY = 10_000  # bytes
_LONGEST_TAIL = 20_000  # bytes of a log
_LONGEST_CURVE = 4_000_000  # bytes
_MOST_NOTES = 20  # files that are no files, named in a log
_PERMANENT = (
    *(errno.EEXIST, errno.ENOTDIR, errno.EACCES, errno.EPERM),
    *(errno.EROFS, errno.ELOOP, errno.ENAMETOOLONG),
)

Held = tuple[int, int, int, int]
"""A folder that a process holds: its pid, its descriptor, and the folder's device and inode."""


Say = Callable[[str], None]


@final
class Checkpoints:
    """The checkpoints in a study's folder.

    Args:
        root: the folder that `trials/` is in.
        study: the study's id.
        config_digest: returns a digest of the configuration of a trial.
        where: where the study is stored, for messages.
        held: the `trials/` folder that the worker holds, in a process that the worker has started.
    """

    def __init__(
        self,
        root: Path,
        study: str,
        config_digest: Callable[[int], str],
        where: str = "",
        held: Held | None = None,
    ) -> None:
        self.root = root
        self.study = study
        self.config_digest = config_digest
        self.where = where
        self._tag = _hex_digits(study)
        self._path = os.path.join(root, TRIALS)  # looked at for every trial: a `Path` takes longer
        self._held_by_worker = held
        self._root: HeldFolder | None = None
        self._trials: HeldFolder | None = None
        self._unmarked: frozenset[int] = frozenset()

    def claim(self) -> None:
        """Create the folder if necessary, hold it, and mark it as this study's.

        Raise `MismatchError` if it belongs to another study. A `trials/` folder without a mark is
        from an earlier version: what it holds is accepted.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            root = hold_folder(self.root)
            trials = root.subfolder(TRIALS, create=True)
            found = owner(trials)
            if found is None:
                unmarked = [number for number in trial_numbers(trials) if _unmarked(trials, number)]
                found = mark(trials, FolderOwner(self.study, self.where, frozenset(unmarked)))
                root.sync()
        except OSError as error:
            if error.errno not in _PERMANENT:  # such as a full disk: the worker tries again
                raise
            raise FormatError(
                f"{self.root} cannot be used as the folder for checkpoints ({error}). Change its "
                "permissions, or use another one (a study in a database: `folder`, or --folder)."
            ) from None
        require_own(self.root, found, self.study, self.where)
        self.close()
        self._root, self._trials, self._unmarked = root, trials, found.unmarked

    def close(self) -> None:
        """Release the folder. A later call opens it again, by its path."""
        for folder in (self._root, self._trials):
            if folder is not None:
                folder.close()
        self._root = self._trials = None

    def hold(self) -> Held | None:
        """Claim the folder unless it is held; raise `MismatchError` if it was replaced.

        If it was moved away, raise `StorageError`: it may come back.

        Return which folder is held, for processes that this one starts.
        """
        if self._root is None or self._trials is None:
            self.claim()
        elif self.moved:
            self._claim_again(self._root)
        assert self._trials is not None
        number = self._trials.descriptor
        return None if number is None else (os.getpid(), number, *self._trials.place)

    def _claim_again(self, root: HeldFolder) -> None:
        """Claim a folder whose `trials/` was deleted; raise an error if it was moved away."""
        place = _place(self.root)
        if place is None:
            raise StorageError(
                f"{self.root} was removed or moved while this worker was using it. Move it back to "
                "continue."
            )
        if place != root.place or root.has(TRIALS):
            raise MismatchError(
                f"{self.root} was moved or replaced while this worker was using it. The results so "
                "far are in the folder that was moved, and nothing was written to the one that is "
                "there now. Start the worker again where the study is now."
            )
        self.claim()

    @property
    def moved(self) -> bool:
        """Whether the path no longer leads to the folder that is held."""
        return self._trials is not None and _place(self._path) != self._trials.place

    def knows(self, trial: int) -> bool:
        """Whether a trial has a folder. Most cheap trials have none."""
        trials = self._open()
        return trials is not None and trials.has(str(trial))

    def folder(self, trial: int) -> Path:
        """A trial's folder, created if necessary."""
        with self._new_trial(trial) as folder:
            return folder.path

    def checkpoint_dir(self, trial: int, attempt: int, kind: str = "") -> Path:
        """The path of what an attempt saves. Nothing is created."""
        return self.root / TRIALS / str(trial) / self._name(attempt, kind) / SAVED

    def workplace(self, trial: int, attempt: int) -> Path:
        """A new, empty folder for an attempt to save into."""
        return self._new_attempt(trial, attempt)

    def new_part(self, trial: int, attempt: int) -> Path:
        """A new, empty folder for the checkpoint of a step, which `put` makes one."""
        return self._new_attempt(trial, attempt, ".part")

    def left_by(self, trial: int, attempt: int, say: Say = lambda text: None) -> Path | None:
        """The checkpoint that the successful attempt at a trial has left; None if there is none.

        `say` is called for each one that is not used, as it says that it is of something else.
        """
        with self._trial(trial) as folder:
            name = None if folder is None else self._left_by(folder, trial, attempt, say)
            return None if name is None else self._saved(trial, name)

    def seal(
        self, trial: int, attempt: int, step: float, stamp: tuple[object, ...] | None = None
    ) -> bool:
        """Copy what an attempt has saved by a step, and delete its earlier copies.

        With a `stamp`, the copy is used only if that is still the stamp when it has been made:
        somebody else may be writing. Return whether it is used.
        """
        self.new_part(trial, attempt)
        with (
            self._new_trial(trial) as folder,
            _inside(folder, self._name(attempt), SAVED) as saved,
            _inside(folder, self._name(attempt, ".part"), SAVED) as part,
        ):
            special = saved.copy_tree(part)
        if stamp is not None and stamp != self.stamp(trial, attempt):
            return False
        self._note_special(trial, attempt, special, "not copied")
        self.put(trial, attempt, step)
        return True

    def put(self, trial: int, attempt: int, step: float, last: bool = False) -> None:
        """Make what is in `new_part` the checkpoint of a step, atomically.

        The attempt's earlier checkpoints are deleted. With `last`, the checkpoint before is kept:
        if the result of the trial is lost, the next attempt does the last step again from there.
        """
        name, part = self._name(attempt, f".step-{step!r}"), self._name(attempt, ".part")
        if not _NAME.fullmatch(name):
            raise FormatError(f"A step must be a number of at least 0, got {step!r}.")
        with self._new_trial(trial) as folder:
            with folder.subfolder(part) as inner:
                special = inner.sync_tree()
            earlier = [] if last else [old for _, old in self._copies(folder, trial, attempt)]
            folder.remove(name)
            folder.rename(part, name)
            folder.sync()
            for old in earlier:
                if old != name:
                    folder.remove(old)
        self._note_special(trial, attempt, special, "not synced")

    def take_over(
        self, trial: int, attempt: int, below: float = math.inf, say: Say = lambda text: None
    ) -> tuple[Path, float] | None:
        """Give the newest complete checkpoint of earlier attempts to this one.

        Return its new folder and its step; None if there is no checkpoint `below` that step. With
        the trial's last step as `below`, at least one step is left to do, whose result the
        objective returns. `say` is called as by `left_by`.
        """
        with self._trial(trial) as folder:
            while folder is not None:
                copies = [
                    (step, name)
                    for step, name in self._copies(folder, trial)
                    if step < below and self._resumable(folder, trial, name, say)
                ]
                if not copies:
                    return None
                step, name = copies[-1]
                taken = f"{attempt}.from-{name.partition('-')[2]}"
                try:
                    folder.rename(name, taken)
                except FileNotFoundError:  # the earlier attempt still runs, and has replaced it
                    continue
                return self._saved(trial, taken), step
        return None

    def sync(self, trial: int, attempt: int) -> None:
        """Make the checkpoint that an attempt has left survive a power loss."""
        with self._trial(trial) as folder:
            name = None if folder is None else self._left_by(folder, trial, attempt)
            if folder is None or name is None:
                return
            with folder.subfolder(name) as left:
                special = left.sync_tree()
            folder.sync()
            if self._trials is not None:
                self._trials.sync()
        self._note_special(trial, attempt, special, "not synced")

    def settle(self, trial: int, attempt: int) -> None:
        """Remove all checkpoints of a trial except that of the attempt that ended it."""
        with self._trial(trial) as folder:
            if folder is not None:
                kept = self._left_by(folder, trial, attempt)
                for name in self._own(folder, trial):
                    if name != kept:
                        folder.remove(name)

    def discard(self, trial: int, attempt: int) -> None:
        """Remove what an attempt has saved incompletely; its complete copies stay."""
        with self._trial(trial) as folder:
            if folder is not None:
                for kind in ("", ".part"):
                    folder.remove(self._name(attempt, kind))

    def remove(self, trial: int) -> None:
        """Remove a trial's checkpoints, but not its curves and logs."""
        with self._trial(trial) as folder:
            for name in [] if folder is None else self._own(folder, trial):
                assert folder is not None
                folder.remove(name)

    def held(self, but: Collection[int] = ()) -> list[int]:
        """The trials that have checkpoints, in order; those in `but` are skipped."""
        trials, found = self._open(), []
        for number in [] if trials is None else trial_numbers(trials):
            if number not in but:
                with self._trial(number) as folder:
                    found += [number] if folder is not None and self._own(folder, number) else []
        return found

    def open_log(self, trial: int, attempt: int) -> int:
        """Open the log of an attempt, for appending."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with self._new_trial(trial) as folder:
            return folder.open_file(f"log-{attempt}.txt", flags)

    def end_of_log(self, trial: int, attempt: int) -> str:
        """The last part of the log of an attempt; empty if it cannot be read."""
        return self._tail(trial, f"log-{attempt}.txt", _LONGEST_TAIL)

    def curve(self, trial: int, attempt: int) -> str:
        """The lines of the curve of an attempt, or the last ones of a long curve."""
        return self._tail(trial, f"curve-{attempt}.jsonl", _LONGEST_CURVE)

    def _tail(self, trial: int, name: str, longest: int) -> str:
        with suppress(OSError, FormatError), self._trial(trial) as folder:
            if folder is not None:
                with open(folder.open_file(name, os.O_RDONLY), "rb") as file:
                    file.seek(max(file.seek(0, os.SEEK_END) - longest, 0))
                    return file.read(longest).decode(errors="replace")
        return ""

    def note(self, trial: int, attempt: int, text: str) -> None:
        """Add a line to the log of an attempt, if that is possible."""
        with suppress(OSError, FormatError), self._new_trial(trial) as folder:
            folder.append(f"log-{attempt}.txt", f"{text}\n".encode(errors="replace"))

    def add_point(self, trial: int, attempt: int, line: str) -> None:
        """Add a line to the curve of an attempt."""
        with self._new_trial(trial) as folder:
            folder.append(f"curve-{attempt}.jsonl", f"{line}\n".encode())

    def points(self, trial: int, attempt: int) -> list[bytes]:
        """The lines of the curve of an attempt; none if there is no curve that can be read."""
        with self._trial(trial) as folder:
            if folder is None:
                return []
            try:
                return folder.read(f"curve-{attempt}.jsonl", LONGEST_CURVE).splitlines()
            except (OSError, FormatError):
                return []

    def stamp(self, trial: int, attempt: int) -> tuple[object, ...]:
        """What an attempt has saved so far: it differs if a file changed, and is empty for none."""
        with self._trial(trial) as folder:
            if folder is None:
                return ()
            try:
                with _inside(folder, self._name(attempt), SAVED) as saved:
                    return saved.stamp()
            except FileNotFoundError:
                return ()

    def _open(self) -> HeldFolder | None:
        """The folder of all trials, opened if necessary; None if there is none."""
        if self._trials is None and self._held_by_worker is not None:
            self._trials = _reopened(self.root, self._held_by_worker, self.study)
        elif self._trials is None:
            try:
                with hold_folder(self.root) as root:
                    trials = root.subfolder(TRIALS)
            except (FileNotFoundError, NotADirectoryError):
                return None
            found = owner(trials)
            self._trials = trials
            self._unmarked = found.unmarked if found and found.study == self.study else frozenset()
        return self._trials

    @contextmanager
    def _trial(self, trial: int) -> Iterator[HeldFolder | None]:
        """A trial's folder; None if it has none."""
        trials, folder = self._open(), None
        if trials is not None and trials.has(str(trial)):  # most cheap trials have none
            with suppress(FileNotFoundError):  # it was removed in between
                folder = trials.subfolder(str(trial))
        if folder is None:
            yield None
            return
        with folder:
            yield folder

    def _new_trial(self, trial: int) -> HeldFolder:
        """A trial's folder, created if necessary."""
        if self._held_by_worker is None and self._root is None:
            self.claim()
        trials = self._open()
        assert trials is not None
        return trials.subfolder(str(trial), create=True)

    def _new_attempt(self, trial: int, attempt: int, kind: str = "") -> Path:
        identity = {"study": self.study, "trial": trial, "attempt": attempt}
        data = to_json(identity | {"config": self.config_digest(trial)}).encode()
        name = self._name(attempt, kind)
        with self._new_trial(trial) as folder, folder.new_subfolder(name) as made:
            made.write_new(IDENTITY, data)
            made.new_subfolder(SAVED).close()
        return self.checkpoint_dir(trial, attempt, kind)

    def _name(self, attempt: int, kind: str = "") -> str:
        return f"{attempt}{kind}-{self._tag}"

    def _saved(self, trial: int, name: str) -> Path:
        """The path of what was saved in a folder of a trial."""
        path = self.root / TRIALS / str(trial) / name
        return path / SAVED if _tag(name) else path

    def _own(self, folder: HeldFolder, trial: int) -> list[str]:
        """The names of this study's checkpoints in the folder of a trial."""
        tags = (self._tag, "") if trial in self._unmarked else (self._tag,)
        return [name for name in folder.subfolders() if _tag(name) in tags]

    def _copies(
        self, folder: HeldFolder, trial: int, attempt: int | None = None
    ) -> list[tuple[float, str]]:
        """The complete copies in a trial's folder, by step; only those an attempt made, if given.

        Those that an attempt has taken over were made by another.
        """
        copies = []
        for name in self._own(folder, trial):
            match = _NAME.fullmatch(name)
            assert match
            made_by = attempt is None or (match[2] == "step" and int(match[1]) == attempt)
            if match[3] and made_by:
                copies.append((float(match[3]), name))
        return sorted(copies)

    def _left_by(
        self, folder: HeldFolder, trial: int, attempt: int, say: Say = lambda text: None
    ) -> str | None:
        names = [name for _, name in self._copies(folder, trial, attempt)]
        names += [n for n in self._own(folder, trial) if n in (str(attempt), self._name(attempt))]
        resumable = (name for name in reversed(names) if self._resumable(folder, trial, name, say))
        return next(resumable, None)

    def _resumable(self, folder: HeldFolder, trial: int, name: str, say: Say) -> bool:
        """Whether a folder of a trial has a checkpoint in it, and one of this trial."""
        try:
            if not _tag(name):
                with folder.subfolder(name) as saved:
                    return not saved.is_empty()
            with folder.subfolder(name) as made:
                with made.subfolder(SAVED) as saved:
                    empty = saved.is_empty()
                wrong = "" if empty else self._difference(made, trial, name)
        except FileNotFoundError:  # the objective, or another process, has removed it
            return False
        except FormatError as error:
            empty, wrong = False, str(error)
        if wrong:
            say(f"{folder.path / name} is not resumed: {wrong}")
        return not (empty or wrong)

    def _difference(self, made: HeldFolder, trial: int, name: str) -> str:
        """How the identity of a checkpoint differs from what it should be; empty if it does not."""
        try:
            found = from_json(made.read(IDENTITY, _LONGEST_IDENTITY).decode())
        except (OSError, UnicodeDecodeError, FormatError) as error:
            return f"{IDENTITY} cannot be read ({error})"
        match = _NAME.fullmatch(name)
        assert match
        wanted = {"study": self.study, "trial": trial, "config": self.config_digest(trial)}
        if match[2] != "from":  # a copy that was taken over is of an earlier attempt
            wanted["attempt"] = int(match[1])
        unlike = [
            f"{key} {found.get(key)!r:.40}, not {value!r}"
            for key, value in wanted.items()
            if found.get(key) != value
        ]
        return f"it is of {'; '.join(unlike)}" if unlike else ""

    def _note_special(self, trial: int, attempt: int, special: list[str], what: str) -> None:
        """Say in the trial's log which saved files are no files, and were left out."""
        for path in special[:_MOST_NOTES]:
            self.note(trial, attempt, f"{path} is neither a file nor a folder, so it is {what}.")


def _hex_digits(study: str) -> str:
    """Eight digits that stand for a study in names. A study from a stranger may have any id."""
    if re.fullmatch(r"[0-9a-f]{8,}", study):
        return study[:8]
    return blake2b(study.encode(errors="surrogatepass"), digest_size=4).hexdigest()


def _tag(name: str) -> str | None:
    """The digits of the study's id in a name; "" for one from before, None for another name."""
    match = _NAME.fullmatch(name)
    return None if match is None else match[5] or ""


def _unmarked(trials: HeldFolder, trial: int) -> bool:
    """Whether a trial has checkpoints from before there were marks."""
    with trials.subfolder(str(trial)) as folder:
        return any(_tag(name) == "" for name in folder.subfolders())


@contextmanager
def _inside(folder: HeldFolder, *names: str) -> Iterator[HeldFolder]:
    """A folder below another."""
    first, *rest = names
    with folder.subfolder(first) as inner:
        if not rest:
            yield inner
            return
        with _inside(inner, *rest) as innermost:
            yield innermost


def _place(path: Path | str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _reopened(root: Path, held: Held, study: str) -> HeldFolder:
    """The folder that the worker holds, in a process that it has started.

    Usually that is the one at the path. If that was moved, the worker's own descriptor leads there.
    On another machine neither can be compared: there the folder must say which study it is of.
    """
    pid, number, *place = held
    path = root / TRIALS
    candidates: list[Callable[[], int]] = [
        lambda: os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW),
        lambda: os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_DIRECTORY),
    ]
    if pid == os.getpid():
        candidates = [lambda: os.dup(number)]
    for opened in candidates:
        try:
            folder = HeldFolder(path, opened())
        except OSError:
            continue
        if folder.place == tuple(place):
            return folder
        folder.close()
    with suppress(OSError, FormatError), hold_folder(root) as outer:
        folder = outer.subfolder(TRIALS)
        found = owner(folder)
        if found is not None and found.study == study:
            return folder
    raise MismatchError(
        f"{path} was moved or replaced while a trial was running. Start the worker again where the "
        "study is now."
    )
