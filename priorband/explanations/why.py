"""Why a trial is what it is: how it was chosen, how it was ranked, and what became of it."""

from typing import TYPE_CHECKING, Any, Literal, final

from priorband.explanations.outcomes import Outcome
from priorband.explanations.places import Place
from priorband.explanations.sources import ConfigSource
from priorband.trial import Slot
from priorband.values import field_names, frozen

AdvanceKind = Literal["promote", "continue", "duel"]
AdvanceReason = Literal["rank", "leads its rung", "best so far", "duel", "unknown"]
OpenReason = Literal["due", "rung", "results", "mode", "duel", "unknown"]


@final
@frozen
class Advance:
    """A trial that went on: which trial continues it, and how it ranked at that moment."""

    parent: int
    """The trial that went on."""
    child: int
    """The trial that continues it."""
    kind: AdvanceKind
    """ "promote": within its bracket. Outside the brackets, "continue": the prior's mode, and
    "duel": a rival of the prior."""
    reason: AdvanceReason
    """ "rank": it was among the first of its rung. For the prior's mode, "leads its rung" or "best
    so far". "duel": it had to be compared with the prior. "unknown": the method has a rule that is
    not known here."""
    place: Place | None
    """The place of `parent` just before `child` was asked; None if it was ranked with no other."""
    results: int
    """How many trials of the study had ended by then."""
    exact: bool | None
    """Whether making the decision again gives the same trial; None if the method is not known."""


@final
@frozen
class LostAttempt:
    """An attempt that brought no result, after which the trial was attempted again."""

    attempt: int
    kind: str
    reason: str
    worker: str


@final
@frozen
class Why:
    """Everything that explains a trial. `study.why(17)` returns it; `print` it to read it.

    Example:
        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space({"x": Float(0, 1)}), Fidelity("epochs", 1, 9), "sh")
        >>> for trial in study.ask(9):
        ...     _ = study.tell(trial, trial.id)
        >>> why = study.why(7)
        >>> why.outcome, why.place.rank, why.place.of, why.place.advance
        ('stopped', 8, 9, 3)
        >>> print(why)
        Trial 7 was stopped: it is 8th of 9 on rung 0 of bracket 0, and the first 3 go on.
        source      uniform draw
        trained     epochs=1 of 9, loss 7
        rank        8th of 9 that ended on rung 0 of bracket 0; the first 3 go on
    """

    trial: int
    """The id of the trial."""
    outcome: Outcome
    """What became of it, in a word: the column `outcome` of tables."""
    source: ConfigSource
    """How its configuration was chosen."""
    slot: Slot | None
    """Its bracket and rung; None outside the brackets."""
    fidelity: float
    """How far it is trained in total."""
    full: float
    """The highest fidelity: that of a full training."""
    unit: str
    """The name of the fidelity."""
    loss: float | None
    """Its loss; None unless it succeeded."""
    maximize: bool
    """Whether the study maximises: values are then the negatives of losses."""
    place: Place | None = None
    """Its place now; None unless it has ended and is ranked with others."""
    continues: Advance | None = None
    """How the trial went on that this one continues; None if it is the first of its chain."""
    continued: Advance | None = None
    """How this trial went on; None if it did not."""
    still_open: OpenReason | None = None
    """Why it may still go on; None unless its outcome is "open". "due": it is among those that go
    on next. "rung": its rung has not ended. "results": it goes on if further results rank behind
    it. "mode": the prior's mode goes on if it gets ahead. "duel": it may become a rival of the
    prior. "unknown": the method may continue it."""
    needed: int | None = None
    """With "results", after how many further results on its rung it goes on, if all of them rank
    behind it; None if the rule is another one."""
    failure: tuple[str, str] | None = None
    """The kind of its failure, and the reason; None unless it failed."""
    retry_of: int | None = None
    """The failed trial whose place it has."""
    retried_by: int | None = None
    """The trial that has its place after it failed."""
    lost: tuple[LostAttempt, ...] = ()
    """Earlier attempts that brought no result. In memory, there are none."""

    @property
    def value(self) -> float | None:
        """What the objective returned; None unless it succeeded."""
        return self.shown(self.loss)

    def shown(self, loss: float | None) -> float | None:
        """A loss as the objective returned it."""
        return -loss if loss is not None and self.maximize else loss

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        from priorband.explanations.text import sentence

        return sentence(self)

    @property
    def data(self) -> dict[str, Any]:
        """All facts as plain data, which can be written as JSON, and the answer in a sentence."""
        facts: dict[str, Any] = _plain(self)
        shares = self.source.probabilities
        facts["source"]["probabilities"] = None if shares is None else dict(shares)
        if self.failure is not None:
            facts["failure"] = dict(zip(("kind", "reason"), self.failure, strict=True))
        return {"sentence": self.sentence, **facts, "value": self.value}

    def __str__(self) -> str:
        from priorband.explanations.text import lines

        return "\n".join(lines(self))

    if not TYPE_CHECKING:  # a notebook shows the text

        def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
            del cycle
            printer.text(str(self))


def _plain(item: Any) -> Any:
    """A value and the values in it as dictionaries, lists, texts and numbers."""
    if isinstance(item, Slot):
        return item._asdict()
    if isinstance(item, tuple):
        return [_plain(each) for each in item]
    if hasattr(type(item), "__match_args__") and type(item).__module__.startswith("priorband."):
        return {name: _plain(getattr(item, name)) for name in field_names(item)}
    return item
