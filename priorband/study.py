"""The study: ask for trials, tell their losses."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn, final, overload

from priorband.arguments import (
    asked_trial,
    checked_cost,
    checked_count,
    checked_failure_kind,
    checked_flag,
    checked_loss,
    checked_prior,
    json_metrics,
    result_fidelity,
    retryable_trial,
    running_trial,
    trial_fidelity,
)
from priorband.attribute_hints import OF_STUDIES, no_attribute
from priorband.errors import ExhaustedError, TrialError
from priorband.events import Asked, Event, Failed, PriorChanged, Queued, Told
from priorband.explanations.explanation import StudyFacts, explanation
from priorband.explanations.outcomes import outcomes_of
from priorband.explanations.why import Why
from priorband.failures import FailureKind, failure_reason
from priorband.fidelity import Fidelity
from priorband.keywords import with_proposals
from priorband.notebook import html_fields
from priorband.optimizers import Optimizer
from priorband.prior_report.report import PriorReport
from priorband.problem import Problem, make_problem
from priorband.replay import Replay, replayed
from priorband.results.learning_curves import Curves, joined_curves
from priorband.results.trial_records import TrialRecords, trial_record
from priorband.space.prior import Prior, same_prior
from priorband.space.space import Space
from priorband.state import State
from priorband.trial import IMPORTED, Observation, Trial


class BaseStudy(ABC):
    """What `Study` and the studies of `open_study` have in common.

    Functions that take a study take either kind.
    """

    problem: Problem
    method_known = True
    """Whether `problem` has the study's own method. If not, no decision can be made again."""
    prior_known = True
    """Whether `problem` has the study's own prior. If not, no draw can be made again until the
    prior is changed."""

    @property
    def space(self) -> Space:
        """The search space."""
        return self.problem.space

    @property
    def prior(self) -> Prior:
        """What is believed about good configurations; `set_prior` changes it."""
        return self.state.prior

    @property
    def fidelity(self) -> Fidelity:
        """How long a trial can be trained."""
        return self.problem.fidelity

    @property
    def optimizer(self) -> Optimizer:
        """The method: a scheduler and a sampler."""
        return self.problem.optimizer

    @property
    def seed(self) -> int:
        """The seed of all decisions."""
        return self.problem.seed

    @property
    @abstractmethod
    def maximize(self) -> bool:
        """Whether higher values are better: each loss is then the negative of a value."""

    @property
    @abstractmethod
    def state(self) -> State:
        """The space, the prior, the ladder and the history: all that the next decision reads."""

    if not TYPE_CHECKING:  # a type checker knows which attributes there are

        def __getattr__(self, name: str) -> NoReturn:
            raise no_attribute(self, name, OF_STUDIES)

    def _repr_html_(self) -> str:
        history, best = self.state.history, self.best
        fields: list[tuple[str, object]] = [
            ("trials", f"{history.observation_count} of {len(history)} ended"),
            ("fidelity", f"{self.fidelity.name}, {self.fidelity.low:g} to {self.fidelity.high:g}"),
            ("goal", "maximize" if self.maximize else "minimize"),
        ]
        if best is not None:
            value = -best.loss if self.maximize else best.loss
            where = f"trial {best.trial.id}, {self.fidelity.name}={best.fidelity:g}"
            fields += [("best", f"{value:.5g} ({where})")]
            fields += [(f"best {name}", item) for name, item in best.config.items()]
        return html_fields(repr(self), fields)

    @property
    def best(self) -> Observation | None:
        """The lowest loss at any fidelity; None before the first result."""
        return self.state.history.best

    @property
    def best_in_full(self) -> Observation | None:
        """The lowest loss of a full training; None before the first one."""
        return self.state.history.best_at(self.problem.fidelity.high)

    @overload
    def ask(self) -> Trial:
        """Return the next trial to evaluate."""

    @overload
    def ask(self, n: int) -> list[Trial]:
        """Return the next `n` trials to evaluate."""

    @abstractmethod
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        """Return the next trial to evaluate, or a list of the next `n`.

        Any number of trials may be open at once: ask again before you tell.

        Args:
            n: how many trials to return as a list; None for one trial by itself.

        Returns:
            The trial, with its configuration, its fidelity and, if it continues another trial,
            the id of that parent. With `n`, a list, which is shorter if fewer are left to try.

        Raises:
            ExhaustedError: if nothing is left to try.
            ArgumentError: if `n` is not a whole number of at least 1.
        """

    @abstractmethod
    def tell(
        self, trial: Trial | int, loss: Any, *, cost: float | None = None, **metrics: Any
    ) -> bool:
        """Report the result of a trial.

        Args:
            trial: the trial, or its id.
            loss: a real number; lower is better, or higher if the study maximises: what the
                objective returned. One that is not finite is a failure.
            cost: what the trial cost, in a unit of your own.
            **metrics: other values to keep with the result.

        Returns:
            Whether the loss counts: False if another worker has ended the trial already.

        Raises:
            TrialError: if the trial is unknown, or was told already.
            LossError: if the loss or the cost is not a number.
        """

    @abstractmethod
    def fail(self, trial: Trial | int, reason: object = "", kind: FailureKind = "raised") -> bool:
        """Report that a trial ended without a loss: it is never promoted.

        Args:
            trial: the trial, or its id.
            reason: what went wrong, for people.
            kind: what sort of failure it was.

        Returns:
            Whether the failure counts: False if another worker has ended the trial already.

        Raises:
            TrialError: if the trial is unknown, or was told already.
            ArgumentError: if there is no such kind of failure.
        """

    @abstractmethod
    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        """Queue a configuration to be tried next.

        It takes the place of the sampler's next draw and is then promoted like any other.

        Args:
            config: a value for each parameter of the space.
            fidelity: where to evaluate it, outside the schedule; None leaves it to the scheduler.

        Raises:
            ConfigError: if the configuration is not in the space.
            SpaceError: if the fidelity is out of range.
        """

    @abstractmethod
    def retry(self, trials: Sequence[int]) -> None:
        """Put failed trials first in line, each in its old place.

        A trial that is handed out again has the configuration and the fidelity with which it
        failed, and continues the same parent. It takes the failed one's place in the bracket, which
        waits for it. The failed trial stays as it is.

        Args:
            trials: the ids of the trials.

        Raises:
            TrialError: if a trial is unknown, has not failed, was imported or was retried already.

        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "hyperband")
        >>> first = study.ask()
        >>> study.fail(first, "out of memory", kind="memory")
        True
        >>> study.retry([first.id])
        >>> again = study.ask()
        >>> again.id, again.config == first.config, again.slot == first.slot
        (1, True, True)
        """

    @abstractmethod
    def set_prior(self, prior: Prior | Mapping[str, Any] | None) -> None:
        """Replace the prior: all decisions from now on use the new one.

        Trials keep what they were decided on with the earlier prior, also those that are running.
        Nothing is trained again: to try the mode of the new prior, queue it. A prior that is equal
        to the present one changes nothing. `state.history.prior_changes` lists the changes.

        Args:
            prior: beliefs by parameter name, or a `Prior`; None for the parameters' own priors.
                A parameter that is left out has no prior.

        Raises:
            SpaceError: if the prior does not fit the space.

        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space(x=Float(0, 1, prior=0.2)), Fidelity("epochs", 1, 9))
        >>> trials = study.ask(3)
        >>> study.set_prior({"x": 0.7})
        >>> study.prior.mode, study.state.history.prior_changes[0].asked
        ({'x': 0.7}, 3)
        >>> study.queue(study.prior.mode)
        >>> study.ask().config, study.replay().exact
        ({'x': 0.7}, True)
        """

    @abstractmethod
    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        """Add a finished result from elsewhere.

        It counts for the incumbent, and for the scores if its fidelity is that of a rung. It uses
        none of the budget and is never promoted.

        Args:
            config: a value for each parameter of the space.
            loss: a real number, as for `tell`; one that is not finite is a failure.
            fidelity: where it was evaluated; None means a full training.

        Returns:
            The observation, with the trial that now stands for the result.

        Raises:
            ConfigError: if the configuration is not in the space.
            SpaceError: if the fidelity is out of range.
            LossError: if the loss is not a number.
        """

    @abstractmethod
    def follow(self, events: Iterable[Event]) -> None:
        """Take over events of another study of the same problem, in their order.

        Args:
            events: the events, such as `other.state.history.events`.

        >>> from priorband import Float, Space, Study
        >>> space = Space({"x": Float(0, 1)})
        >>> one, other = (Study(space, method="random") for _ in range(2))
        >>> one.tell(one.ask(), 0.5)
        True
        >>> other.follow(one.state.history.events)
        >>> other.best == one.best, other.replay().exact
        (True, True)
        """

    @abstractmethod
    def metrics(self, trial: Trial | int) -> Mapping[str, Any]:
        """Return what was told beside a trial's loss: the metrics, and "cost" if there was one.

        Args:
            trial: the trial, or its id.

        Raises:
            TrialError: if the trial is unknown.
        """

    @abstractmethod
    def trials(self) -> TrialRecords:
        """Return all trials with their results, as a list with a method `to_frame`.

        Returns:
            A record of each trial, in the order in which they were asked.

        >>> from priorband import Float, Space, Study
        >>> study = Study(Space(x=Float(0, 1)), method="random", maximize=True)
        >>> study.tell(study.ask(), 0.75, auc=0.5)
        True
        >>> [record] = study.trials()
        >>> record.status, record.value, record.loss, record.metrics
        ('succeeded', 0.75, -0.75, {'auc': 0.5})
        """

    @abstractmethod
    def curves(self) -> Curves:
        """Return the learning curves by trial, each with those of the trials that it continues.

        A stored study has the points that objectives report. In memory, the results of the rungs
        are the points.

        Returns:
            The curves by the id of the trial, with a method `to_frame`.
        """

    def prior_report(self) -> PriorReport:
        """Judge the prior by the results so far.

        Returns:
            The report card: one sentence, whether the prior helps or harms, the same for each
            parameter, and a prior for the next study. `print` it to read it.

        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space(x=Float(0, 1, prior=0.4)), Fidelity("epochs", 1, 9))
        >>> study.prior_report().verdict
        'not enough evidence'
        """
        from priorband.prior_report.judge import judged_prior

        start = self.problem.start()
        return judged_prior(start, self.state, self.optimizer, self.seed, self.maximize)

    def why(self, trial: Trial | int) -> Why:
        """Explain a trial: how it was chosen, how it ranks, and why it went on or was stopped.

        Only the decisions about this trial are made again, from what was known at that time.

        Args:
            trial: the trial, or its id.

        Returns:
            All facts as values. Print it to read it.

        Raises:
            TrialError: if the trial is unknown.

        >>> from priorband import Fidelity, Float, Space, Study
        >>> study = Study(Space(x=Float(0, 1)), Fidelity("epochs", 1, 9), "hyperband")
        >>> for trial in study.ask(9):
        ...     _ = study.tell(trial, trial.id)
        >>> print(study.why(5).sentence)
        Trial 5 was stopped: it is 6th of 9 on rung 0 of bracket 0, and the first 3 go on.
        """
        number = asked_trial(self.state.history, trial).id
        return explanation(study_facts(self), number)

    def replay(self) -> Replay:
        """Make every decision again, from what was known when it was made, and compare.

        Returns:
            The decisions by trial id; `exact` says whether all came out as recorded.
        """
        problem = self.problem
        events = self.state.history.events
        return replayed(problem.optimizer, problem.seed, problem.start(), events)


def study_facts(study: BaseStudy) -> StudyFacts:
    """What explanations of a study's trials are made of."""
    problem, state = study.problem, study.state
    optimizer = problem.optimizer if study.method_known else None
    return StudyFacts(
        optimizer, problem.seed, problem.start(), state, study.maximize, study.prior_known
    )


@final
class Study(BaseStudy):
    """A study in memory: a space, a fidelity, a method, a seed, and what has happened so far.

    Args:
        space: the search space.
        fidelity: how long a trial can be trained; None if each trial is a full training.
        method: a name from `methods()`, or an `Optimizer`.
        seed: the seed of all decisions.
        prior: beliefs by parameter name, or a `Prior`; replaces the parameters' own priors.
        maximize: whether higher values are better. `tell` then takes the value itself, and each
            `loss` in the study is its negative.

    Raises:
        SpaceError: if the space, the fidelity or the prior is invalid.
        MethodError: if there is no such method.
        ArgumentError: if the seed is not a whole number, or `maximize` not True or False.

    >>> from priorband import Fidelity, Float, Space, Study
    >>> space = Space({"x": Float(0, 1, prior=0.4)})
    >>> study = Study(space, fidelity=Fidelity("epochs", 1, 9), seed=0)
    >>> for _ in range(20):
    ...     trial = study.ask()
    ...     counted = study.tell(trial, (trial.config["x"] - 0.3) ** 2 + 1 / trial.fidelity)
    >>> study.best.fidelity, round(study.best.config["x"], 1)
    (9, 0.3)
    """

    @with_proposals
    def __init__(  # noqa: PLR0913  # the problem, each part of which has a name
        self,
        space: Space,
        fidelity: Fidelity | None = None,
        method: str | Optimizer | None = None,
        seed: int = 0,
        prior: Prior | Mapping[str, Any] | None = None,
        maximize: bool = False,
    ) -> None:
        self._maximize = checked_flag("maximize", maximize)
        self.problem = make_problem(space, fidelity, method, seed, prior)
        self._state = self.problem.start()
        self._metrics: dict[int, dict[str, Any]] = {}
        self._lock = RLock()

    def __repr__(self) -> str:
        ended = self.state.history.observation_count
        return f"Study({self.fidelity.name}, {ended} of {len(self.state.history)} trials ended)"

    @property
    def state(self) -> State:
        """The space, the prior, the ladder and the history: all that the next decision reads."""
        return self._state

    @property
    def maximize(self) -> bool:
        """Whether higher values are better: each loss is then the negative of a value."""
        return self._maximize

    @overload
    def ask(self) -> Trial: ...
    @overload
    def ask(self, n: int) -> list[Trial]: ...
    def ask(self, n: int | None = None) -> Trial | list[Trial]:
        with self._lock:
            if n is None:
                return self._ask()
            trials = list[Trial]()
            for _ in range(checked_count("n", n)):
                try:
                    trials.append(self._ask())
                except ExhaustedError:
                    if not trials:
                        raise
                    break
            return trials

    def _ask(self) -> Trial:
        trial = self.problem.optimizer.propose(self._state, self.problem.seed)
        self._append(Asked(trial))
        return trial

    def tell(
        self, trial: Trial | int, loss: Any, *, cost: float | None = None, **metrics: Any
    ) -> bool:
        value = checked_loss(loss)
        kept = json_metrics(metrics) if metrics else {}
        if cost is not None:
            kept["cost"] = checked_cost(cost)
        with self._lock:
            running = running_trial(self._state.history, trial)
            if kept:
                self._metrics[running.id] = kept
            if math.isfinite(value):
                self._append(Told(running.id, -value if self._maximize else value))
            else:
                reason = failure_reason("diverged", f"the loss was {value}")
                self._append(Failed(running.id, reason))
        return True

    def fail(self, trial: Trial | int, reason: object = "", kind: FailureKind = "raised") -> bool:
        why = failure_reason(checked_failure_kind(kind), str(reason))
        with self._lock:
            self._append(Failed(running_trial(self._state.history, trial).id, why))
        return True

    def queue(self, config: Mapping[str, Any], fidelity: float | None = None) -> None:
        at = trial_fidelity(fidelity, self.fidelity, self._state.ladder)
        with self._lock:
            self._append(Queued(self.space.check(config), at))

    def retry(self, trials: Sequence[int]) -> None:
        with self._lock:
            before = self._state
            try:
                for number in trials:
                    failed = retryable_trial(self._state.history, number)
                    self._append(Queued(failed.config, failed.fidelity, failed.id))
            except TrialError:
                self._state = before
                raise

    def set_prior(self, prior: Prior | Mapping[str, Any] | None) -> None:
        wanted = checked_prior(prior, self.space, self.fidelity)
        with self._lock:
            if not same_prior(wanted, self._state.prior):
                self._append(PriorChanged(wanted))

    def add(
        self, config: Mapping[str, Any], loss: Any, fidelity: float | None = None
    ) -> Observation:
        checked, number = self.space.check(config), checked_loss(loss)
        full = self.fidelity.high if fidelity is None else fidelity
        at = result_fidelity(full, self.fidelity, self._state.ladder)
        with self._lock:
            new = len(self._state.history)
            trial = Trial(new, checked, at, None, None, IMPORTED, new)
            self._append(Asked(trial))
            self.tell(trial, number)
            outcome = self._state.history.outcome(trial.id)
            assert outcome is not None
            return outcome

    def follow(self, events: Iterable[Event]) -> None:
        with self._lock:
            for event in events:
                self._append(event)

    def metrics(self, trial: Trial | int) -> Mapping[str, Any]:
        return dict(self._metrics.get(asked_trial(self._state.history, trial).id, {}))

    def trials(self) -> TrialRecords:
        with self._lock:
            state, told = self._state, dict(self._metrics)
        words, history = outcomes_of(self.problem.optimizer.scheduler, state), state.history
        return TrialRecords(
            trial_record(trial, word, history, self._maximize, told.get(trial.id, {}))
            for trial, word in zip(history.trials, words, strict=True)
        )

    def curves(self) -> Curves:
        return joined_curves(self._state.history, self._maximize)

    def _append(self, event: Event) -> None:
        self._state = self._state.after(event)
