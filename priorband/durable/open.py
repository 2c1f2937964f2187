"""Opening a study: where it lies, whether it exists, and whether it is the one that was meant."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from priorband.arguments import (
    given_fidelity,
    given_prior,
    given_seconds,
    given_seed,
    given_space,
    warn_of_one_rung,
)
from priorband.durable.ledger import Ledger
from priorband.durable.messages import attempts
from priorband.durable.problem import Problem, described, differences, restored
from priorband.durable.study import LEASE, DurableStudy
from priorband.durable.view import StudyView
from priorband.errors import DamagedError, FormatError, MismatchError, SpaceError
from priorband.fidelity import Fidelity
from priorband.history import History
from priorband.named_methods import optimizer as named_method
from priorband.optimizers import Optimizer
from priorband.schedulers.full import FullFidelity
from priorband.space.config import Config
from priorband.space.prior import Prior
from priorband.space.space import Space
from priorband.storage.high_water import salvage_hint
from priorband.storage.identity import worker_name
from priorband.storage.journal import FORMAT, Row, sealed
from priorband.storage.json_text import Entry, body, text
from priorband.storage.postgres import PostgresJournal
from priorband.storage.sqlite import SqliteJournal

Place = SqliteJournal | PostgresJournal


def open_study(  # noqa: PLR0913  # what a study is about, and how this process takes part in it
    where: str | Path,
    space: Space | None = None,
    fidelity: Fidelity | None = None,
    method: str | Optimizer | None = None,
    seed: int | None = None,
    prior: Prior | Mapping[str, Any] | None = None,
    *,
    maximize: bool | None = None,
    folder: str | Path | None = None,
    lease: float = LEASE,
    retries: Mapping[str, int] | None = None,
    read_only: bool = False,
) -> DurableStudy:
    """The study in a folder or a database; it is created if it does not exist and a space is given.

    `where` is a folder such as "runs/resnet", or "postgresql://user@host/database#resnet". What is
    given must agree with what the study was created with; what is not given is taken from there.
    `folder` is where checkpoints go for a study in a database: all workers must see it.
    """
    attempts(retries)  # a mistake in it must not leave a new study behind
    lease = given_seconds("lease", lease)
    journal = located(where, read_only)
    try:
        kept_in = _folder(journal, folder)
        if not journal.exists():
            if space is None or read_only:
                hint = "" if read_only else " Give a space to create it, or mend the path."
                raise FormatError(f"There is no study in {journal.where}.{hint}")
            _create(journal, _problem(space, fidelity, method, seed, prior), bool(maximize))
        stored = _creation(journal)
        given = (space, fidelity, method, seed, prior)
        problem = _agreed(journal.where, stored["problem"], given)
        _same_direction(journal.where, stored["maximize"], maximize)
        return DurableStudy(journal, problem, kept_in, lease, retries)
    except BaseException:
        journal.close()
        raise


def located(where: str | Path, read_only: bool = False) -> Place:
    """The journal at a place."""
    text = str(where)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgresJournal(text, read_only)
    if "://" in text:
        raise SpaceError(
            f"A study lies in a folder, or at a URL that begins with postgresql://, got {text!r}."
        )
    if not text:
        raise SpaceError("A study needs a folder, such as 'runs/resnet', or a postgresql:// URL.")
    return SqliteJournal(Path(text), read_only)


def _problem(
    space: Space,
    fidelity: Fidelity | None,
    method: str | Optimizer | None,
    seed: int | None,
    prior: Prior | Mapping[str, Any] | None,
) -> Problem:
    """A new study's problem, from what was given for it."""
    space, how = given_space(space), _optimizer(method or "priorband")
    if not isinstance(how.scheduler, FullFidelity):
        warn_of_one_rung(fidelity, how.eta)
    believed = given_prior(prior, space, fidelity)
    return Problem(space, believed, given_fidelity(fidelity, space), how, given_seed(seed or 0))


def _optimizer(method: str | Optimizer) -> Optimizer:
    return method if isinstance(method, Optimizer) else named_method(method)


def _create(journal: Place, problem: Problem, maximize: bool) -> None:
    """Write the first record, unless somebody else has just done so."""
    about = {"format": FORMAT, "study": os.urandom(8).hex(), "problem": described(problem)}
    text(about["problem"])  # type: ignore[arg-type]  # refuses what cannot be stored, before a file is made
    journal.prepare()
    folded = StudyView(problem, journal.where, worker_name())
    written: list[Row] = []
    with journal.transaction(0, written.extend) as transaction:
        if not (written or transaction.rows):
            folded.append(transaction, Entry("created", None, about | {"maximize": maximize}))


def _creation(journal: Place) -> dict[str, Any]:
    """What the first record says."""
    first = journal.first()
    if first is None or first.seq != 1 or first.kind != "created":
        raise DamagedError(
            f"{journal.where} is damaged: it does not begin with the creation of a study. "
            f"{salvage_hint(journal.where)}"
        )
    ledger = Ledger()
    try:
        if first.seal != sealed(0, first):
            raise FormatError("it is not what was written")
        ledger.apply(first, body(first.body), History(), lambda _: Config())
    except FormatError as error:
        raise DamagedError(
            f"{journal.where} is damaged: record 1 cannot be: {error}. "
            f"{salvage_hint(journal.where)}"
        ) from None
    return {"problem": ledger.problem, "maximize": ledger.maximize}


def _agreed(where: str, stored: dict[str, Any], given: tuple[Any, ...]) -> Problem:
    """The stored problem, after making sure that all that was given says the same."""
    space, fidelity, method, seed, prior = given
    made = None if isinstance(prior, Mapping) else prior
    how = None if method is None else _optimizer(method)
    try:
        known = restored(stored, prior=made, optimizer=how)
    except FormatError as error:
        raise DamagedError(f"{where} is damaged: its problem cannot be: {error}") from None
    over = known.space if space is None else given_space(space)
    upto = known.fidelity if fidelity is None else given_fidelity(fidelity, over)
    believed = over.prior if prior is None else given_prior(prior, over, upto)
    seeded = known.seed if seed is None else given_seed(seed)
    meant = described(Problem(over, believed, upto, how or known.optimizer, seeded))
    if prior is None:
        meant["prior"] = stored["prior"]
    unlike = differences(stored, meant)
    if unlike:
        raise MismatchError(
            f"The study in {where} was created with another problem:\n  - "
            + "\n  - ".join(unlike)
            + "\nOpen it with its own, or begin a new study at another place."
        )
    return known


def _same_direction(where: str, stored: bool, given: bool | None) -> None:
    if given not in (None, stored):
        was, wanted = ("maximises", "minimise") if stored else ("minimises", "maximise")
        raise MismatchError(f"The study in {where} {was}, but was opened to {wanted}.")


def _folder(journal: Place, folder: str | Path | None) -> Path:
    if isinstance(journal, SqliteJournal):
        if folder is not None and Path(folder).resolve() != journal.folder.resolve():
            raise SpaceError("A study in a folder keeps its checkpoints there: drop `folder`.")
        return journal.folder
    return Path(folder if folder is not None else f"priorband-{journal.name}").absolute()
