"""Opening a study to look at it, also one whose method only its user can make."""

from priorband.display.text import printable
from priorband.durable.open import located, open_study
from priorband.durable.problem import restored
from priorband.durable.serialize import TAG, from_plain
from priorband.durable.study import DurableStudy
from priorband.errors import MethodError
from priorband.named_methods import optimizer
from priorband.storage.json_text import body


def viewed(where: str) -> DurableStudy:
    """A study that is read and never written.

    A method or a prior with parts of its user's own is not made again: what has happened can be
    shown without them.
    """
    try:
        return open_study(where, read_only=True)
    except MethodError:
        journal = located(where, read_only=True)
        try:
            first = journal.first()
            assert first is not None
            stored = body(first.body)["problem"]
            own = stored["method"].get(TAG) == "own"
            prior, stand_in = (
                from_plain(stored["space"]).prior,
                optimizer("random") if own else None,
            )
            return DurableStudy(journal, restored(stored, prior=prior, optimizer=stand_in))
        except BaseException:
            journal.close()
            raise


def own_method(study: DurableStudy) -> str:
    """What a user calls a method with parts of their own; empty where it has none."""
    stored = study.ledger.problem["method"]
    return printable(stored["name"]) if stored.get(TAG) == "own" else ""
