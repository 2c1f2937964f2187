"""What `guardband` and `guardband+bo` decide, written a second time from their description.

The rules are numbered 1 to 15 as in the description of the two methods ("the notes" below). The
ladder of rungs, the sizes of brackets, the order of synchronous jobs, the incumbent and the
ensemble sampling policy (ESP) are those of the description of the paper's method ("the dossier").
The module uses nothing but the standard library, and nothing of the package, so that the two can be
compared. It favours being easy to check over being fast: every call reads the whole history.

`decide` answers one request for work: given everything that happened so far, what is the next
trial? A job that has not ended is running, which is all that several workers change.

What is random stays outside: a decision "new" holds the probabilities of the three sources, and a
decision "model" the factor of the log prior in the acquisition. The two densities that ESP needs
come in as `score` (see `Score`). Nothing else has to be injected: the spent resources that switch
ESP's incumbent on follow from the jobs. Rule 9's process and the search for its maximum, the losses
that stand for failures (rule 12) and for running trials (rule 13) are not part of this module.

Where the descriptions are silent or ambiguous, and how they are read here
--------------------------------------------------------------------------

The schedule

A1. *Bracket numbers.* In the dossier the index of a bracket is its base rung; the notes speak of
    "bracket 0, 1, ..." in order of opening. `bracket` is here the number in order of opening.
A2. *Bases from bracket 1 on in guardband+bo.* Rule 11 says of brackets >= 1 that "bases alternate
    0, 1", which could start again with base 0 in bracket 1. Read: bracket k has base k mod 2, as
    by rule 1, because rule 11 stands "in place of rule 5", which is about draws, not about bases.
A3. *Sizes.* The notes say only that n0 is 27 with four rungs. Read: the dossier's default sizes
    (floor). A bracket of base 1 has 9, 3, 1 with four rungs; 3, 1 with three; 2 with two.
A4. *One rung* (rule 14). "Bracket 0 is eta full trainings" could mean every bracket, as with one
    rung all have base 0 and a size belongs to a base. Read: the first bracket only, because the
    rule names bracket 0 alone; the later ones keep the dossier's size, which is 1 (A3). "The first
    uniform" is rule 3 with n0 = eta, in bracket 0 only. (This was read the other way at first. It
    matters for rule 8: the model waits for one more training, not for eta, if it is unproven.)
A5. *Opening with one rung.* There is no rung top-1. Read: the mode is trained on the only rung, in
    full. The other reading is no opening. A mode at z_max has nothing left to continue.
A6. *Which id breaks ties.* "By loss, then id" and, in the dossier, "lower config id (earlier
    sampled)". A promotion is a trial with an id of its own, given in order of promotion, not of
    sampling. Read: the id of the first trial of the lineage (the draw), for every ranking. The two
    differ only for equal losses above the base rung.
A7. *Failures in a rung.* The dossier: "the next rung simply shrinks". Read: rung r+1 has
    min(planned size, successes of rung r) members; the rungs above keep their planned sizes as
    upper limits, so a rung of 2 may be followed by another rung of 2. Failed trials are never
    promoted, even if no other candidate is left.
A8. *Opening and other trials.* "The first trial is the mode", yet queued or imported trials may
    come before (rule 15 finds the mode by its origin). Read: the opening is due as long as the
    prior is not flat and no trial has the origin "mode". It is not repeated if it fails.
A9. *Several workers in guardband.* Silent. Read: the dossier's rule; while the opening runs, the
    other workers start bracket 0; when nothing can be promoted, the next bracket is opened.

Incumbent and successes

A10. *Full training.* Read: a trial that ended with a finite loss at z_max, whatever its origin. A
     failed or running one is none. A loss that is not finite counts as failed (dossier 1.7).
A11. *Incumbent.* The notes do not define it. Read: ESP's centre in the dossier (section 3): the
     lowest loss over configurations, each with its loss at the highest fidelity it has ended. A
     running continuation changes nothing. Equal configurations of different lineages are one
     configuration; among several results at that highest fidelity the first of the ranking counts,
     and its origin is the incumbent's origin. In rule 4 alone ("the mode is the incumbent") each
     lineage counts for itself, even if a draw happens to equal the mode: that rule goes on "ranking
     is by loss, then id", and ids belong to trials. Like every other rule about the schedule it can
     then be followed without a look at configurations.
A12. *A configuration whose continuation failed.* The dossier excludes "failed configs" from the
     incumbent and gives failures the loss +inf. Read: if the highest fidelity that a configuration
     has ended has only failures, the configuration cannot be the incumbent, although it succeeded
     on a lower rung. Its success on the lower rung still counts in the ranking of that rung (rule
     4, ESP's top set).
A13. *What belongs to a rung* (rule 4: "its rung has >= eta+1 successes"; ESP's scoring rung).
     Read: all successful trials at exactly that rung's fidelity, of all brackets, the mode, queued
     and imported ones included. The mode is outside the plan, so membership of a bracket cannot be
     meant. The eta+1 include the mode itself: eta is what bracket 0 has on rung top-1.

Guard (rule 3) and the mode (rule 4)

A14. *Draws.* Promotions, the mode, queued and imported trials are no draws, whether or not a queued
     one has taken a place in bracket 0. Rule 3 counts draws that were handed out, ended or not: it
     is about where the next one comes from. Rule 4 ("the uniform draws are made") could count the
     same, but is read as: the first floor(n0/eta) draws have ended. It compares the mode with them,
     and by the other reading sixteen workers would pay for a full training of any mode that ends
     first, because nothing is there to beat it. With one worker the two are equal. (This was read
     the other way at first.)
A15. *No incumbent yet*, because all failed or run: read as not trusted.
A16. *Origins.* An incumbent of the origin uniform, queued, imported, incumbent or model is not
     trusted; only "mode" and "prior" are named.
A17. *"If the mode failed"*: does a failed continuation count? Read: yes, any failed trial of the
     origin "mode", even if the incumbent is a draw from the prior.
A18. *Brackets >= 1 of guardband before the first full training* (several workers, or failures).
     Rule 3 is "in bracket 0", rule 5 needs a full training. Read: rule 3's odds go on, with the
     bracket's base as the rung. The factor eta^rung, which is always 1 in bracket 0, would
     otherwise have no use. With a flat prior: uniform.
A19. *When the mode is continued.* "Before any other step": read as at every request, in every
     bracket, and in guardband+bo also after phase 1, although there "phase 1 is bracket 0 with its
     rules 2-4" could limit it. It makes a difference only if the mode becomes the incumbent late,
     for instance because the duel's configuration got worse, or if its rung reaches eta+1
     successes late, because trials of bracket 0 failed or run.
A20. *"Once"*: read as no trial has the mode as its parent, running and failed ones included.

ESP in guardband (rule 5)

A21. *Activation.* "With at least one full training: the paper's ESP unchanged". Either this is the
     whole condition, or ESP keeps its own test, too (resources used >= cost of bracket 0, and a
     full training). Read: "unchanged" includes the test. Until it holds, the prior gets all but
     p_U. With one worker and without failures the two are equal. They differ with several workers
     and after a bracket 0 that failures shrank.
     With one rung the cost of bracket 0 is that of the dossier's bracket, one training: rule 14
     changes the size of bracket 0 for the guard and for phase 1, and "the paper's ESP unchanged"
     leaves the paper's test as it is.
A22. *Resources used.* The dossier: the sum over configurations of the highest finished fidelity,
     where failures count "at the assigned fidelity increment". Read: the increments of all ended
     trials, failed or not, of the mode and of queued ones, too. An imported configuration has a
     highest finished fidelity as well; it adds what it exceeds our own trials of the same
     configuration by. (At first imported results were left out, because nothing was spent on them
     here. But the test asks whether there are enough results, and the dossier's sum is over
     configurations, not over bills.) The comparison allows a relative error of 1e-9, since with a
     flat prior both sides are the same sum.
A23. *A flat prior.* ESP is used all the same; its draws from the prior are uniform draws. "Flat:
     all uniform" is part of rule 3 only.

guardband+bo

A24. *When bracket 0 is over.* Rule 13: "while bracket 0 has running trials". Read: its members
     only. A running continuation of the mode does not hold back the duel and the proof; the mode
     then counts as not having reached z_max.
A25. *Which full trainings the duel looks at* (rule 6). "Some full training ... and none has
     another" could mean all trials. Read: the same as the proof's (rule 7 with rule 15), since the
     duel is there to give the proof an opponent. It matters if several workers have brought a
     perturbation of the incumbent to z_max meanwhile.
A26. *The mode as the only full training.* "Not better than or equal to all others": without others
     the mode is better than all of them, so there is no duel. It is not proven either, as rule 7
     asks for at least one other.
A27. *A mode that is not at z_max* is not better than the others: the duel takes place.
A28. *The duel's candidate*: a success of bracket 0 of uniform origin, below the top rung, without
     any continuation. If there is none, there is no duel. The duel is recognised later as a trial
     outside the plan, of uniform origin, with a parent.
A29. *When the duel is due.* Read: at each request that would open a bracket, until it was made,
     not only at the first one after bracket 0.
A30. *Queued and imported full trainings in the proof* (rule 15: "count as another origin"): read
     as opponents in both clauses of rule 7, whenever they were made, and also if they got there by
     promotions in a later bracket. Model trainings and perturbations of the incumbent never count.
A31. *"A failed duel means unproven"* (rule 12): forever, or as far as it follows from rule 7?
     Read: as far as it follows. Without an opponent both clauses fail, so it is unproven;
     "recomputed each time" can still prove the prior by a uniform full training of a later
     bracket.
A32. *"After bracket 1"* (rule 8) with several workers: read as bracket 1 has been opened, handed
     out and has no running trial. Until then the next bracket is opened, as rule 13 says of
     bracket 0.
A33. *n in min(1, 10/n)* is the number of all full trainings, of every origin.
A34. *Patience* (rule 10). Read: the number of model trainings that ended, successfully or not,
     after the last strictly better full training (of any origin) and after the opening of the last
     bracket, however that came to be opened. A model training that was asked before that opening
     and ended after it could count, too ("patience counts ended trials"), but is read as not: with
     many workers several are always running, and their ends would open one bracket after another,
     where rule 10 says "run one bracket; then the model again". (This was read the other way at
     first.) The limit, 3 or 1, is that of the proof now.
A35. *"Run one bracket; then the model again"* with several workers: read as the model is asked
     again as soon as the bracket has nothing to hand out, although trials of it may be running.
A36. *Shares in brackets >= 1* (rule 11): "any full success" is any full training, the mode's
     included. The prior's share is 0. Rule 11 holds also for a bracket 1 that several workers open
     while bracket 0 runs; the guard (rule 3) is for bracket 0 alone there.
A37. *Trials outside the plan* have neither bracket nor rung in a decision, although the opening is
     said to be "on rung top-1".

What people ask for

A38. *A configuration that is queued without a fidelity.* The notes speak of queued results only
     (rule 15). Read: it takes the place of the next new configuration, which may be a draw in a
     bracket, also in bracket 0, or a model training. Promotions, the continuation of the mode and
     the duel come before it. The opening does not: it is a new configuration as well, which follows
     when the queue is empty. Queued trials with a fidelity run at once, outside the plan.
A39. *Retries.* Silent. Read: a trial that is asked again after it failed takes the failed one's
     place in its bracket, which waits for it, and as the mode ("if the mode failed" then means the
     retry). What has ended stays ended in all else: the failure remains a result of its
     configuration (A12), a draw that has ended (A14), a cost (A22) and an ended model training
     (A34), and the retry is another one of the last two.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ladder:
    """The reduction factor and the fidelities of rungs 0 to top, in rising order."""

    eta: int
    fidelities: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.eta < 2:
            raise ValueError(f"eta is {self.eta}; it must be at least 2")
        pairs = zip(self.fidelities, self.fidelities[1:], strict=False)
        if not self.fidelities or any(low >= high for low, high in pairs):
            raise ValueError(f"fidelities are {self.fidelities}; they must rise, at least one")

    @property
    def top(self) -> int:
        """The highest rung, whose fidelity is z_max."""
        return len(self.fidelities) - 1

    @property
    def z_max(self) -> float:
        """The fidelity of a full training."""
        return self.fidelities[-1]


@dataclass(frozen=True)
class Job:
    """One trial, as asked.

    `rung` and `bracket` are None outside the plan; `bracket` counts brackets in order of opening.
    `origin` is one of "uniform", "prior", "incumbent", "mode", "model", "queued" and "imported"; a
    continuation keeps the origin and the configuration of its `parent`. `config` names the
    configuration: equal numbers are equal configurations. `retry_of` is the failed trial whose
    place this one takes.
    """

    id: int
    fidelity: float
    rung: int | None
    bracket: int | None
    origin: str
    parent: int | None
    config: int
    retry_of: int | None = None


@dataclass(frozen=True)
class Ended:
    """A job has ended with this loss; None means that it failed."""

    job: int
    loss: float | None


Event = Job | Ended

Score = Callable[[Sequence[tuple[int, int]], int], tuple[float, float]]
"""ESP's two scores: `score(top, incumbent)` returns (S_prior, S_incumbent).

`top` is a list of pairs (config, weight), best first, with the weights n, n-1, ..., 1: the n =
max(eta, m // eta) best of the m successes of the highest rung that has at least eta. `incumbent`
is the incumbent's configuration. S_prior is the sum of weight times the prior's density,
S_incumbent the sum of weight times the density of the prior's kernel centred on the incumbent.
Only the ratio of the two matters, so both may be scaled by a common factor to avoid underflow.
"""


@dataclass(frozen=True)
class Decision:
    """The next trial.

    `kind` is "opening" (the mode), "continue" (the mode to z_max), "promote", "new", "duel",
    "model" or "queued" (a queued configuration in the place of one of the last two or a new one).
    `shares` are the probabilities of the sources of a "new" configuration; `prior_weight`
    (the factor of the log prior, 0.0 if unproven or flat) and `proven` belong to "model".
    """

    kind: str
    fidelity: float
    bracket: int | None = None
    rung: int | None = None
    parent: int | None = None
    shares: dict[str, float] | None = None
    prior_weight: float | None = None
    proven: bool | None = None


GUARDBAND = "guardband"
GUARDBAND_BO = "guardband+bo"
TOLERANCE = 1e-9


def decide(
    method: str,
    ladder: Ladder,
    flat: bool,
    events: Sequence[Event],
    score: Score,
    queued: bool = False,
) -> Decision:
    """The next trial of `method`, "guardband" or "guardband+bo", after `events` in order of time.

    `flat` says that the prior holds no belief. `score` is called only for a "new" configuration of
    guardband once ESP's incumbent is active. `queued` says that a configuration without a fidelity
    of its own is first in the queue [A38].
    """
    if method not in (GUARDBAND, GUARDBAND_BO):
        raise ValueError(f"method is {method!r}; it must be {GUARDBAND!r} or {GUARDBAND_BO!r}")
    history = read(ladder, events)
    step = mode_step(history, flat or queued) or next_promotion(history)
    if step is not None:
        return step
    bracket = unfilled_bracket(history)
    if bracket is None:
        if method == GUARDBAND_BO and (step := model_phase_step(history, flat)) is not None:
            return Decision("queued", ladder.z_max) if queued and step.kind == "model" else step
        bracket = len(history.brackets())
    base = base_rung(ladder, bracket)
    if queued:
        return Decision("queued", ladder.fidelities[base], bracket, base)
    if method == GUARDBAND:
        shares = guardband_shares(history, flat, bracket, score)
    else:
        shares = guardband_bo_shares(history, flat, bracket)
    return Decision("new", ladder.fidelities[base], bracket, base, shares=shares)


# History


@dataclass
class History:
    """What has happened, and what follows from it at once."""

    ladder: Ladder
    events: Sequence[Event]
    jobs: dict[int, Job] = field(default_factory=dict)
    results: dict[int, float | None] = field(default_factory=dict)
    retried: set[int] = field(default_factory=set)
    """Failed jobs whose place another one has taken [A39]."""

    def ended(self, job: Job) -> bool:
        """Whether the job has ended, successfully or not."""
        return job.id in self.results

    def succeeded(self, job: Job) -> bool:
        """Whether the job has ended with a finite loss."""
        return self.results.get(job.id) is not None

    def failed(self, job: Job) -> bool:
        """Whether the job has ended without a finite loss."""
        return self.ended(job) and not self.succeeded(job)

    def loss(self, job: Job) -> float:
        """The loss of a job that succeeded."""
        loss = self.results[job.id]
        assert loss is not None
        return loss

    def root(self, job: Job) -> int:
        """The id of the first trial of the job's lineage."""
        while job.parent is not None:
            job = self.jobs[job.parent]
        return job.id

    def ranked(self, jobs: Sequence[Job]) -> list[Job]:
        """Those of the jobs that succeeded, best first: by loss, then by the draw's id [A6]."""
        return sorted(
            (job for job in jobs if self.succeeded(job)),
            key=lambda job: (self.loss(job), self.root(job), job.id),
        )

    def continued(self, job: Job) -> bool:
        """Whether some trial continues the job."""
        return any(other.parent == job.id for other in self.jobs.values())

    def at(self, fidelity: float) -> list[Job]:
        """The successes at a fidelity, in or outside the plan, best first [A13]."""
        return self.ranked([job for job in self.jobs.values() if same(job.fidelity, fidelity)])

    def full_trainings(self) -> list[Job]:
        """The successes at z_max, best first [A10]."""
        return self.at(self.ladder.z_max)

    def members(self, bracket: int, rung: int) -> list[Job]:
        """The trials that a bracket has handed out on a rung, in order."""
        slot = (bracket, rung)
        return [job for job in self.standing() if (job.bracket, job.rung) == slot]

    def standing(self) -> list[Job]:
        """All jobs but failed ones whose place another one has taken [A39]."""
        return [job for job in self.jobs.values() if job.id not in self.retried]

    def brackets(self) -> list[int]:
        """The brackets that have been opened, in order."""
        return sorted({job.bracket for job in self.jobs.values() if job.bracket is not None})

    def opening(self) -> Job | None:
        """The first trial of the mode."""
        return next((job for job in self.standing() if job.origin == "mode"), None)

    def incumbent(self) -> Job | None:
        """The trial whose loss makes its configuration the incumbent [A11, A12]."""
        return self.best_of_each(lambda job: job.config)

    def leader(self) -> Job | None:
        """The same with each lineage taken for itself, for rule 4 [A11]."""
        return self.best_of_each(self.root)

    def best_of_each(self, group: Callable[[Job], int]) -> Job | None:
        """The best of the jobs that are at the highest fidelity that their group has ended."""
        ended = [job for job in self.jobs.values() if self.ended(job)]
        highest: dict[int, float] = {}
        for job in ended:
            highest[group(job)] = max(job.fidelity, highest.get(group(job), 0.0))
        candidates = [job for job in ended if same(job.fidelity, highest[group(job)])]
        return next(iter(self.ranked(candidates)), None)


def read(ladder: Ladder, events: Sequence[Event]) -> History:
    """The history that the events tell; a loss that is not finite is a failure."""
    history = History(ladder, events)
    for event in events:
        if isinstance(event, Job):
            if event.id in history.jobs:
                raise ValueError(f"job {event.id} was asked twice")
            if event.parent is not None and event.parent not in history.jobs:
                raise ValueError(f"job {event.id} continues the unknown job {event.parent}")
            if event.retry_of is not None:
                take_place(history, event.retry_of)
            history.jobs[event.id] = event
        else:
            if event.job not in history.jobs or event.job in history.results:
                raise ValueError(f"job {event.job} ended without running")
            finite = event.loss is not None and math.isfinite(event.loss)
            history.results[event.job] = event.loss if finite else None
    return history


def take_place(history: History, failed: int) -> None:
    """Another job takes the place of a failed one."""
    if failed not in history.jobs or not history.failed(history.jobs[failed]):
        raise ValueError(f"job {failed} is retried but did not fail")
    if failed in history.retried:
        raise ValueError(f"job {failed} is retried twice")
    history.retried.add(failed)


def same(one: float, other: float) -> bool:
    """Whether two fidelities are the same but for rounding."""
    return math.isclose(one, other, rel_tol=TOLERANCE)


# The plan: rule 1 and the dossier's synchronous brackets


def base_rung(ladder: Ladder, bracket: int) -> int:
    """The base of a bracket: 0, 1, 0, 1, ..., or always 0 with one rung (rule 1) [A1, A2]."""
    return bracket % 2 if ladder.top >= 1 else 0


def rung_size(ladder: Ladder, base: int, rung: int) -> int:
    """The dossier's size of a rung of a bracket with this base [A3]."""
    height = ladder.top - base
    base_size = (ladder.top + 1) // (height + 1) * ladder.eta**height
    return int(base_size // ladder.eta ** (rung - base))


def planned_size(ladder: Ladder, bracket: int, rung: int) -> int:
    """The planned size of a rung of a bracket: with one rung, bracket 0 is larger [A4]."""
    if ladder.top == 0 and bracket == 0:
        return ladder.eta
    return rung_size(ladder, base_rung(ladder, bracket), rung)


def due_size(history: History, bracket: int, rung: int) -> int:
    """How many trials a rung is to have, once the rung below has ended [A7]."""
    planned = planned_size(history.ladder, bracket, rung)
    if rung == base_rung(history.ladder, bracket):
        return planned
    return min(planned, len(history.ranked(history.members(bracket, rung - 1))))


def handed_out(history: History, bracket: int) -> bool:
    """Whether the bracket's base rung has all its draws, ended or not."""
    base = base_rung(history.ladder, bracket)
    return len(history.members(bracket, base)) >= planned_size(history.ladder, bracket, base)


def rung_over(history: History, bracket: int, rung: int) -> bool:
    """Whether the rung, and with it every rung below, has all its trials and all have ended."""
    members = history.members(bracket, rung)
    complete = len(members) >= due_size(history, bracket, rung)
    over = complete and all(history.ended(job) for job in members)
    if rung == base_rung(history.ladder, bracket):
        return over
    return over and rung_over(history, bracket, rung - 1)


def bracket_over(history: History, bracket: int) -> bool:
    """Whether the bracket was opened and has nothing to run any more."""
    return bracket in history.brackets() and rung_over(history, bracket, history.ladder.top)


def next_promotion(history: History) -> Decision | None:
    """The first promotion that is due: oldest bracket, then highest rung, then best trial."""
    top = history.ladder.top
    for bracket in history.brackets():
        if not handed_out(history, bracket):
            continue
        for rung in range(top - 1, base_rung(history.ladder, bracket) - 1, -1):
            decision = promotion_from(history, bracket, rung)
            if decision is not None:
                return decision
    return None


def promotion_from(history: History, bracket: int, rung: int) -> Decision | None:
    """The promotion that is due from one rung of a bracket."""
    if not rung_over(history, bracket, rung):
        return None
    above = history.members(bracket, rung + 1)
    if len(above) >= due_size(history, bracket, rung + 1):
        return None
    promoted = {job.parent for job in above}
    best = next(j for j in history.ranked(history.members(bracket, rung)) if j.id not in promoted)
    fidelity = history.ladder.fidelities[rung + 1]
    return Decision("promote", fidelity, bracket, rung + 1, parent=best.id)


def unfilled_bracket(history: History) -> int | None:
    """The oldest bracket whose base rung still takes draws."""
    return next((b for b in history.brackets() if not handed_out(history, b)), None)


# The mode: rules 2 and 4


def mode_step(history: History, flat: bool) -> Decision | None:
    """The opening or the continuation of the mode, if one of them is due."""
    ladder = history.ladder
    opening = history.opening()
    if opening is None:
        return None if flat else Decision("opening", ladder.fidelities[max(ladder.top - 1, 0)])
    if not history.succeeded(opening) or history.continued(opening):
        return None
    if same(opening.fidelity, ladder.z_max):
        return None
    if leads_its_rung(history, opening) or leads_after_uniform_draws(history, opening):
        return Decision("continue", ladder.z_max, parent=opening.id)
    return None


def leads_its_rung(history: History, mode: Job) -> bool:
    """Whether the mode's rung has eta+1 successes and none ranks before the mode [A13]."""
    rung = history.at(mode.fidelity)
    return len(rung) >= history.ladder.eta + 1 and rung[0] == mode


def leads_after_uniform_draws(history: History, mode: Job) -> bool:
    """Whether the guard's uniform draws have ended and the mode is the incumbent [A11, A14]."""
    size = guard_draws(history.ladder)
    first = draws(history)[:size]
    return len(first) == size and all(map(history.ended, first)) and history.leader() == mode


# Sources of new configurations: rules 3, 5 and 11


def guard_draws(ladder: Ladder) -> int:
    """How many draws of bracket 0 are uniform before the prior has its turn."""
    return planned_size(ladder, 0, 0) // ladder.eta


def draws(history: History) -> list[Job]:
    """The draws of bracket 0, in order; a retry is none, as the failed trial is one [A14, A39]."""
    return [
        job
        for job in history.jobs.values()
        if (job.bracket, job.rung) == (0, 0) and job.origin != "queued" and job.retry_of is None
    ]


def shares_of(uniform: float, prior: float, incumbent: float) -> dict[str, float]:
    """Probabilities of the three sources, scaled to the sum 1."""
    total = uniform + prior + incumbent
    return {
        "uniform": uniform / total,
        "prior": prior / total,
        "incumbent": incumbent / total,
    }


def guardband_shares(history: History, flat: bool, bracket: int, score: Score) -> dict[str, float]:
    """Rule 3 in bracket 0 and before any full training [A18], then ESP (rule 5)."""
    if bracket == 0 or not history.full_trainings():
        return guard_shares(history, flat, bracket)
    return esp_shares(history, base_rung(history.ladder, bracket), score)


def guardband_bo_shares(history: History, flat: bool, bracket: int) -> dict[str, float]:
    """Rule 3 in bracket 0, rule 11 in the others [A36]."""
    if bracket == 0:
        return guard_shares(history, flat, bracket)
    if not history.full_trainings():
        return shares_of(1.0, 0.0, 0.0)
    uniform = uniform_share(history.ladder, base_rung(history.ladder, bracket))
    return shares_of(uniform, 0.0, 1.0 - uniform)


def guard_shares(history: History, flat: bool, bracket: int) -> dict[str, float]:
    """Rule 3: uniform draws first, then the prior as far as it is trusted."""
    ladder = history.ladder
    if flat or len(draws(history)) < guard_draws(ladder):
        return shares_of(1.0, 0.0, 0.0)
    omega = float(ladder.eta) ** (2 if trusted(history) else -2)
    odds = ladder.eta ** base_rung(ladder, bracket) * omega
    return shares_of(1.0, odds, 0.0)


def trusted(history: History) -> bool:
    """Whether the incumbent comes from the prior, and the mode has not failed [A15-A17]."""
    modes = [job for job in history.standing() if job.origin == "mode"]
    if any(history.failed(job) for job in modes):
        return False
    incumbent = history.incumbent()
    return incumbent is not None and incumbent.origin in ("mode", "prior")


def uniform_share(ladder: Ladder, rung: int) -> float:
    """ESP's share of uniform draws for a rung, also that of rule 11."""
    return float(1.0 / (1.0 + ladder.eta**rung))


def esp_shares(history: History, rung: int, score: Score) -> dict[str, float]:
    """The paper's ensemble sampling policy for a draw on a rung."""
    uniform = uniform_share(history.ladder, rung)
    incumbent = history.incumbent()
    part = 0.0
    if incumbent is not None and esp_active(history):
        part = incumbent_part(history, incumbent, score)
    return shares_of(uniform, (1.0 - part) * (1.0 - uniform), part * (1.0 - uniform))


def incumbent_part(history: History, incumbent: Job, score: Score) -> float:
    """The incumbent's part of what is not uniform, by the scores of the top set."""
    eta = history.ladder.eta
    rungs = [history.at(fidelity) for fidelity in reversed(history.ladder.fidelities)]
    scored = next((rung for rung in rungs if len(rung) >= eta), None)
    if scored is None:
        return 1.0 / (1.0 + eta)
    size = max(eta, len(scored) // eta)
    top = [(job.config, size - place) for place, job in enumerate(scored[:size])]
    of_prior, of_incumbent = score(top, incumbent.config)
    if of_prior == 0.0 and of_incumbent == 0.0:
        return 0.5
    return of_incumbent / (of_prior + of_incumbent)


def esp_active(history: History) -> bool:
    """Whether ESP perturbs the incumbent: bracket 0's cost is spent, and there is a full training.

    See A21 and A22.
    """
    enough = first_bracket_cost(history.ladder) * (1.0 - TOLERANCE)
    return resources_used(history) >= enough and bool(history.full_trainings())


def first_bracket_cost(ladder: Ladder) -> float:
    """The cost of bracket 0 if promotions continue trainings and nothing fails."""
    rises = [
        high - low for low, high in zip((0.0, *ladder.fidelities), ladder.fidelities, strict=False)
    ]
    return math.fsum(rung_size(ladder, 0, rung) * rise for rung, rise in enumerate(rises))


def resources_used(history: History) -> float:
    """What our own trials cost, and what imported results add to that [A22]."""
    own: dict[int, float] = {}
    imported: dict[int, float] = {}
    costs = list[float]()
    for job in history.jobs.values():
        if history.ended(job):
            ours = job.origin != "imported"
            highest = own if ours else imported
            highest[job.config] = max(job.fidelity, highest.get(job.config, 0.0))
            if ours:
                before = 0.0 if job.parent is None else history.jobs[job.parent].fidelity
                costs.append(job.fidelity - before)
    more = (max(reached - own.get(config, 0.0), 0.0) for config, reached in imported.items())
    return math.fsum((*costs, *more))


# guardband+bo where the plan would open a bracket: rules 6 to 10


def model_phase_step(history: History, flat: bool) -> Decision | None:
    """The duel or a model training; None to open the next bracket."""
    if not bracket_over(history, 0):
        return None
    duel = due_duel(history)
    if duel is not None:
        return duel
    proven = not flat and is_proven(history)
    if not proven and not bracket_over(history, 1):
        return None
    if fruitless_model_trainings(history) >= (3 if proven else 1):
        return None
    weight = min(1.0, 10.0 / len(history.full_trainings())) if proven else 0.0
    return Decision("model", history.ladder.z_max, prior_weight=weight, proven=proven)


@dataclass(frozen=True)
class Evidence:
    """The losses of the full trainings that speak for or against the prior, by origin."""

    mode: tuple[float, ...]
    prior: tuple[float, ...]
    other: tuple[float, ...]

    def mode_leads(self) -> bool:
        """Whether the mode is better than or equal to all others, if there are any."""
        return bool(self.mode) and all(min(self.mode) <= loss for loss in self.prior + self.other)


def evidence(history: History) -> Evidence:
    """The full trainings that rule 7 looks at [A30]."""
    losses: dict[str, list[float]] = {"mode": [], "prior": [], "other": []}
    for job in history.full_trainings():
        if counts_as_evidence(job):
            kind = job.origin if job.origin in ("mode", "prior") else "other"
            losses[kind].append(history.loss(job))
    return Evidence(tuple(losses["mode"]), tuple(losses["prior"]), tuple(losses["other"]))


def counts_as_evidence(job: Job) -> bool:
    """Whether the proof looks at a full training."""
    if job.origin in ("mode", "queued", "imported"):
        return True
    if job.bracket is None:
        return is_duel(job)
    return job.bracket == 0 or job.origin == "uniform"


def is_duel(job: Job) -> bool:
    """Whether the trial is the duel [A28]."""
    return job.bracket is None and job.origin == "uniform" and job.parent is not None


def due_duel(history: History) -> Decision | None:
    """Rule 6: the best uniform draw against the prior, if only the prior was trained in full."""
    if any(is_duel(job) for job in history.jobs.values()):
        return None
    found = evidence(history)
    if found.other or not (found.mode or found.prior) or found.mode_leads():
        return None
    for rung in range(history.ladder.top - 1, -1, -1):
        for job in history.ranked(history.members(0, rung)):
            if job.origin == "uniform" and not history.continued(job):
                return Decision("duel", history.ladder.z_max, parent=job.id)
    return None


def is_proven(history: History) -> bool:
    """Rule 7; ties favour the prior."""
    found = evidence(history)
    if found.mode_leads() and (found.prior or found.other):
        return True
    believed = found.mode + found.prior
    return bool(believed and found.other) and min(believed) <= min(found.other)


def fruitless_model_trainings(history: History) -> int:
    """Rule 10: ended model trainings since the last gain and the last bracket's opening [A34]."""
    best = math.inf
    opened: set[int] = set()
    asked: set[int] = set()
    ended: set[int] = set()
    for event in history.events:
        if isinstance(event, Job):
            if event.bracket is not None and event.bracket not in opened:
                opened.add(event.bracket)
                asked.clear()
            if event.origin == "model":
                asked.add(event.id)
            continue
        job = history.jobs[event.job]
        full = same(job.fidelity, history.ladder.z_max) and history.succeeded(job)
        if full and history.loss(job) < best:
            best = history.loss(job)
            ended.clear()
        else:
            ended.add(job.id)
    return len(asked & ended)
