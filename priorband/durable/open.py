"""Opening a study: where it is stored, whether it exists, and whether it is the one meant."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priorband.arguments import checked_flag, checked_seconds
from priorband.choose_method import Auto
from priorband.durable.agreed_problem import agreed_problem, require_earlier_prior
from priorband.durable.messages import allowed_attempts
from priorband.durable.problem_data import needed_format, problem_data
from priorband.durable.records import CreatedRecord, checked_body, decode
from priorband.durable.study import LEASE, PATIENCE, DurableStudy
from priorband.durable.view import StudyView
from priorband.errors import ArgumentError, DamagedError, FormatError, MismatchError
from priorband.fidelity import Fidelity
from priorband.keywords import with_proposals
from priorband.numeric import real
from priorband.optimizers import Optimizer
from priorband.problem import Problem, make_problem
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.storage.addresses import EXAMPLE, SCHEMES, is_address, shown
from priorband.storage.folder_owner import owner_at, require_no_trials, require_own
from priorband.storage.high_water import salvage_hint
from priorband.storage.identity import worker_name
from priorband.storage.journal import Row, sealed
from priorband.storage.json_text import to_json
from priorband.storage.postgres import PostgresJournal
from priorband.storage.sqlite import SqliteJournal
from priorband.storage.study_folder import nearby_studies, require_no_file

StudyJournal = SqliteJournal | PostgresJournal


@with_proposals
def open_study(  # noqa: PLR0913  # the problem, and how this process takes part in the study
    where: str | Path,
    space: Space | None = None,
    fidelity: Fidelity | None = None,
    method: str | Optimizer | Auto | None = None,
    seed: int | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    *,
    maximize: bool | None = None,
    folder: str | Path | None = None,
    lease: float = LEASE,
    retries: Mapping[str, int] | None = None,
    patience: float = PATIENCE,
    read_only: bool = False,
) -> DurableStudy:
    """Open the study in a folder or a database; create it if it does not exist.

    What is given must agree with what the study was created with; what is not given is taken from
    the study. Only a new study needs a space. If the prior was changed since, the one that is given
    may be any that the study has had. It does not become the study's prior again: use `set_prior`.

    Args:
        where: a folder such as "runs/resnet", or a URL such as
            "postgresql://user@host/database#resnet".
        space: the search space.
        fidelity: how long a trial can be trained; None if each trial is a full training.
        method: a name from `methods()`, or an `Optimizer`; "priorband" for a new study.
            "auto" chooses one for a new study, and takes that of an existing one.
        seed: the seed of all decisions; 0 for a new study.
        prior: beliefs by parameter name, or a `Prior`; replaces the parameters' own priors.
        maximize: whether higher values are better; False for a new study. Objectives then return
            the value itself, and `tell` takes it; each `loss` in the study is its negative.
        folder: where the checkpoints of a study in a database are kept: a folder of its own that
            all workers see. The first worker creates it.
        lease: for how many seconds a worker on another machine may be silent before its trial
            goes to another one.
        retries: after how many attempts a trial has failed, by kind of failure, such as
            `{"memory": 3}`.
        patience: for how many seconds `ask`, `tell` and the other methods that write wait if
            storage is busy, full or not reachable; 0 to raise `StorageError` at once. A call that
            is repeated, by this or by you, is not written twice. Opening does not wait.
        read_only: never write, and never create a study.

    Returns:
        The study. Close it, or use it in a `with` statement.

    Raises:
        ArgumentError: if an argument is not allowed, such as a URL of another kind.
        FormatError: if there is no study and no space was given, or a newer version wrote it.
        MismatchError: if the study was created with another problem, or the folder holds the
            checkpoints of another study.
        DamagedError: if the study's records are not what was written.
        StorageError: if the storage is busy, full or not reachable.

    >>> import tempfile, priorband as pb
    >>> space = pb.Space({"x": pb.Float(0, 1, prior=0.4)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with pb.open_study(folder, space, pb.Fidelity("epochs", 1, 9)) as study:
    ...         trial = study.ask()
    >>> trial.config, trial.fidelity
    ({'x': 0.4}, 9)
    """
    allowed_attempts(retries)  # checked first: a mistake must not leave a new study behind
    if maximize is not None:
        checked_flag("maximize", maximize)
    lease = checked_seconds("lease", lease)
    if real(patience) is None or patience < 0:
        raise ArgumentError(
            f"`patience` must be a number of seconds of at least 0, got {patience!r}."
        )
    journal = journal_at(where, read_only)
    try:
        checkpoints = checkpoint_folder(journal, folder)
        if not journal.exists():
            if space is None or read_only:
                near = nearby_studies(where)
                hint = " Pass `space` to create it, or fix the path."
                if read_only:
                    hint = "" if near else " `priorband run` and pb.tune create one."
                raise FormatError(f"There is no study in {journal.where}.{near}{hint}")
            problem = make_problem(space, fidelity, method, seed or 0, prior)
            _require_no_trials(journal, checkpoints)
            _create(journal, problem, bool(maximize))
        created = creation(journal)
        if not read_only:
            require_own(checkpoints, owner_at(checkpoints), created.study, journal.where)
        given = (space, fidelity, method, seed, prior)
        problem, other = agreed_problem(journal.where, created.problem, given)
        _check_direction(journal.where, created.maximize, maximize)
        patience = 0 if read_only else patience
        study = DurableStudy(journal, problem, checkpoints, lease, retries, patience)
        require_earlier_prior(study, other)
        return study
    except BaseException:
        journal.close()
        raise


def journal_at(where: str | Path, read_only: bool = False) -> StudyJournal:
    """Return the journal of the study in a folder or at a URL. Nothing is opened yet."""
    if not isinstance(where, str | Path) or not str(where):
        got = "''" if isinstance(where, str) else f"a value of type {type(where).__name__}"
        raise ArgumentError(
            f"`study` must be a folder, such as 'runs/resnet', or an address, such as {EXAMPLE}, "
            f"got {got}."
        )
    text = str(where)
    if isinstance(where, str) and text.startswith(SCHEMES):
        return PostgresJournal(text, read_only)
    if is_address(text):
        raise ArgumentError(
            f"`study` must be a folder, or an address that begins with postgresql:// and is given "
            f"as a str, such as {EXAMPLE}, got {shown(text)}. If it is a folder with an unusual "
            "name, write its full path."
        )
    try:
        usable = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise ArgumentError(f"`study` must be a folder that can exist, got {text!r}.")
    require_no_file(Path(text).absolute())
    return SqliteJournal(Path(text), read_only)


def creation(journal: StudyJournal) -> CreatedRecord:
    """Return the record of a study's creation, or raise `DamagedError`."""
    first = journal.first()
    if first is None or first.seq != 1 or first.kind != "created":
        raise DamagedError(
            f"{journal.where} is damaged: it does not begin with the creation of a study. "
            f"{salvage_hint(journal.where)}"
        )
    try:
        if first.seal != sealed(0, first):
            raise FormatError("it is not what was written")
        record = decode(first)
    except FormatError as error:
        raise DamagedError(
            f"{journal.where} is damaged: record 1 is invalid: {error}. "
            f"{salvage_hint(journal.where)}"
        ) from None
    assert isinstance(record, CreatedRecord)
    return record


def created_record(problem: Problem, maximize: bool, study: str | None = None) -> CreatedRecord:
    """The record of a new study's creation, with a new id, or with the one that it had before."""
    data = problem_data(problem)
    return CreatedRecord(study or os.urandom(8).hex(), data, maximize, needed_format(data))


def checkpoint_folder(journal: StudyJournal, folder: str | Path | None = None) -> Path:
    """Where a study's checkpoints are: in its own folder, or in one of their own."""
    if folder is not None and (not isinstance(folder, str | Path) or is_address(str(folder))):
        got = shown(str(folder)) if isinstance(folder, str | Path) else type(folder).__name__
        raise ArgumentError(f"`folder` must be a path, got {got}.")
    if isinstance(journal, SqliteJournal):
        if folder is not None and Path(folder).resolve() != journal.folder.resolve():
            raise ArgumentError(
                f"`folder` is for studies in a database, got {str(folder)!r}. A study in a folder "
                "keeps its checkpoints there: leave `folder` out."
            )
        return journal.folder
    return Path(folder if folder is not None else f"priorband-{journal.name}").absolute()


def _require_no_trials(journal: StudyJournal, folder: Path) -> None:
    """Raise `MismatchError` if there are checkpoints where a study is to be created."""
    try:
        require_no_trials(folder)
    except MismatchError:
        if not journal.exists():  # or else another process has just created it, and works on it
            raise


def _create(journal: StudyJournal, problem: Problem, maximize: bool) -> None:
    """Write the first record, unless another process has just done so."""
    record = created_record(problem, maximize)
    to_json(checked_body(record))  # raises for what cannot be stored, before a file is made
    journal.prepare()
    view = StudyView(problem, journal.where, worker_name())
    written: list[Row] = []
    with journal.transaction(0, written.extend) as transaction:
        if not (written or transaction.rows):
            view.append(transaction, record)
            transaction.set_version(record.version)


def _check_direction(where: str, stored: bool, maximize: bool | None) -> None:
    if maximize not in (None, stored):
        was, wanted = ("maximises", "minimise") if stored else ("minimises", "maximise")
        raise MismatchError(
            f"The study in {where} {was}, but was opened to {wanted}. Open it with "
            f"maximize={stored}, or leave `maximize` out."
        )
