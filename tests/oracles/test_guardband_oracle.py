"""Examples by hand of every rule, on ladders small enough to follow with a pencil.

Unless said otherwise the ladder has the fidelities 1, 3, 9: bracket 0 has 9, 3, 1 trials, bracket 1
has 3, 1 on rungs 1 and 2, the first 3 draws of bracket 0 are uniform, and the mode opens at 3.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from oracles.guardband_oracle import (
    Decision,
    Ended,
    Event,
    Job,
    Ladder,
    base_rung,
    decide,
    esp_shares,
    first_bracket_cost,
    guard_draws,
    is_proven,
    planned_size,
    read,
    resources_used,
    rung_size,
)

ONE = Ladder(3, (200.0,))
TWO = Ladder(3, (66.0, 199.0))
THREE = Ladder(3, (1.0, 3.0, 9.0))
FOUR = Ladder(3, (3.0, 9.0, 27.0, 81.0))

Losses = Callable[[int, float], float | None]


def unscored(top: Sequence[tuple[int, int]], incumbent: int) -> tuple[float, float]:
    raise AssertionError("no scores are needed here")


def evenly(top: Sequence[tuple[int, int]], incumbent: int) -> tuple[float, float]:
    return 1.0, 1.0


@dataclass
class Story:
    """A study told trial by trial; configurations are numbered in the order in which they came."""

    method: str = "guardband"
    ladder: Ladder = THREE
    flat: bool = False
    events: list[Event] = field(default_factory=list)
    configs: int = 0

    def decide(self) -> Decision:
        return decide(self.method, self.ladder, self.flat, self.events, evenly)

    def jobs(self) -> list[Job]:
        return [event for event in self.events if isinstance(event, Job)]

    def add(self, decision: Decision, origin: str) -> Job:
        """Hand out a trial; a continuation keeps its parent's origin and configuration."""
        parent = next((job for job in self.jobs() if job.id == decision.parent), None)
        if parent is None:
            config, self.configs = self.configs, self.configs + 1
        else:
            config, origin = parent.config, parent.origin
        job = Job(
            len(self.jobs()),
            decision.fidelity,
            decision.rung,
            decision.bracket,
            origin,
            decision.parent,
            config,
        )
        self.events.append(job)
        return job

    def start(self, draw: str = "uniform") -> Job:
        """Do what is decided; a new configuration has the origin `draw`."""
        decision = self.decide()
        origins = {"opening": "mode", "model": "model"}
        return self.add(decision, origins.get(decision.kind, draw))

    def end(self, job: Job, loss: float | None) -> None:
        self.events.append(Ended(job.id, loss))

    def step(self, loss: float | None, draw: str = "uniform") -> Job:
        """Do what is decided, to its end."""
        job = self.start(draw)
        self.end(job, loss)
        return job

    def put(self, origin: str, fidelity: float, loss: float | None) -> Job:
        """A queued or imported trial, to its end."""
        job = self.add(Decision("put", fidelity), origin)
        self.end(job, loss)
        return job

    def run(self, losses: Losses, draws: Sequence[str], until: Callable[[Decision], bool]) -> None:
        """One worker, until a decision that is not to be carried out; `draws` by configuration."""
        while not until(self.decide()):
            job = self.start(draws[self.configs] if self.configs < len(draws) else "uniform")
            self.end(job, losses(job.config, job.fidelity))

    def names(self) -> list[str]:
        """The trials as configuration_rung."""
        rungs = self.ladder.fidelities
        return [f"{job.config}_{rungs.index(job.fidelity)}" for job in self.jobs()]


def after_bracket_0(decision: Decision) -> bool:
    return decision.bracket != 0 and decision.kind not in ("opening", "continue")


def shares(uniform: float, prior: float, incumbent: float) -> dict[str, float]:
    return {"uniform": uniform, "prior": prior, "incumbent": incumbent}


def near(expected: dict[str, float]) -> object:
    return pytest.approx(expected, rel=1e-9)


def hashed(config: int, fidelity: float) -> float:
    """The losses of the dossier's worked schedule."""
    return (37 * config + 11) % 101 / 101


# The plan


def test_brackets_alternate_between_the_two_lowest_bases() -> None:
    assert [base_rung(FOUR, bracket) for bracket in range(5)] == [0, 1, 0, 1, 0]
    assert [base_rung(TWO, bracket) for bracket in range(4)] == [0, 1, 0, 1]
    assert [base_rung(ONE, bracket) for bracket in range(3)] == [0, 0, 0]


def test_sizes_are_those_of_hyperband() -> None:
    def sizes(ladder: Ladder, base: int) -> list[int]:
        return [rung_size(ladder, base, rung) for rung in range(base, ladder.top + 1)]

    assert [sizes(FOUR, base) for base in (0, 1)] == [[27, 9, 3, 1], [9, 3, 1]]
    assert [sizes(THREE, base) for base in (0, 1)] == [[9, 3, 1], [3, 1]]
    assert [sizes(TWO, base) for base in (0, 1)] == [[3, 1], [2]]
    assert [planned_size(ONE, bracket, 0) for bracket in range(3)] == [3, 1, 1]
    assert [guard_draws(ladder) for ladder in (ONE, TWO, THREE, FOUR)] == [1, 1, 3, 9]


def test_one_worker_finishes_a_bracket_before_the_next() -> None:
    story = Story(ladder=Ladder(3, (3.0, 9.0, 27.0)), flat=True)
    story.run(hashed, [], lambda decision: decision.bracket == 1)
    assert " ".join(story.names()) == "0_0 1_0 2_0 3_0 4_0 5_0 6_0 7_0 8_0 8_1 0_1 3_1 8_2"
    assert story.decide().fidelity == 9.0


def test_one_worker_goes_on_with_bases_1_and_0() -> None:
    story = Story("guardband+bo", Ladder(3, (3.0, 9.0, 27.0)), flat=True)
    story.run(hashed, [], lambda decision: decision.kind == "model")
    assert story.names()[13:] == ["9_1", "10_1", "11_1", "11_2"]
    story.step(2.0)  # a model training without gain: patience ends
    assert story.decide() == Decision("new", 3.0, 2, 0, shares=shares(0.5, 0.0, 0.5))


def test_four_workers_open_brackets_while_rungs_are_running() -> None:
    # Times are differences of fidelity. Trials that end together end in the order of their start,
    # each followed by one request. Until 15 this is the dossier's schedule.
    story = Story("guardband+bo", Ladder(3, (3.0, 9.0, 27.0)), flat=True)
    running: list[tuple[float, Job]] = []
    told = []

    def ask(now: float) -> None:
        job = story.start()
        before = next((j.fidelity for j in story.jobs() if j.id == job.parent), 0.0)
        running.append((now + job.fidelity - before, job))
        told.append(f"{story.names()[-1]}@{now:.0f}")

    for _ in range(4):
        ask(0.0)
    while len(told) < 22:
        now = min(time for time, _ in running)
        time, job = next(pair for pair in running if pair[0] == now)
        running.remove((time, job))
        story.end(job, hashed(job.config, job.fidelity))
        ask(now)
    assert " ".join(told) == (
        "0_0@0 1_0@0 2_0@0 3_0@0 4_0@3 5_0@3 6_0@3 7_0@3 8_0@6 9_1@6 10_1@6 11_1@6 8_1@9 "
        "0_1@15 3_1@15 11_2@15 12_0@15 13_0@18 14_0@21 8_2@21 15_0@21 16_0@24"
    )


def test_a_rung_with_a_running_trial_promotes_nothing() -> None:
    story = Story(flat=True)
    first = story.start()
    for _ in range(8):
        story.step(0.5)
    assert story.decide().bracket == 1
    story.end(first, 0.4)
    assert story.decide() == Decision("promote", 3.0, 0, 1, parent=first.id)


def test_equal_losses_are_ranked_by_the_order_of_the_draws() -> None:
    # Configuration 3 is promoted first, then 1, then 2. All have the loss 0.3 on rung 1, so the
    # earliest draw, 1, is promoted to the top, although 3 has the lower id on rung 1.
    story = Story(flat=True)
    low = {3: 0.1, 1: 0.2, 2: 0.2}
    story.run(
        lambda config, z: low.get(config, 0.5) if z == 1.0 else 0.3, [], lambda d: d.rung == 2
    )
    assert story.names()[9:] == ["3_1", "1_1", "2_1"]
    assert story.decide().parent == story.jobs()[10].id


def test_failures_shrink_the_rungs_above() -> None:
    # Two of nine succeed: rung 1 has two trials instead of three, and the top one.
    story = Story(flat=True)
    story.run(lambda config, z: 0.5 if config in (4, 7) else None, [], after_bracket_0)
    assert story.names()[9:] == ["4_1", "7_1", "4_2"]


def test_a_bracket_without_successes_is_over() -> None:
    story = Story(flat=True)
    story.run(lambda config, z: float("nan"), [], after_bracket_0)
    assert len(story.jobs()) == 9
    assert story.decide().bracket == 1


# The opening (rule 2)


@pytest.mark.parametrize(
    ("ladder", "fidelity"), [(FOUR, 27.0), (THREE, 3.0), (TWO, 66.0), (ONE, 200.0)]
)
def test_the_mode_opens_one_rung_below_the_top(ladder: Ladder, fidelity: float) -> None:
    assert Story(ladder=ladder).decide() == Decision("opening", fidelity)


def test_a_flat_prior_has_no_opening() -> None:
    assert Story(flat=True).decide() == Decision("new", 1.0, 0, 0, shares=shares(1.0, 0.0, 0.0))


def test_a_queued_trial_does_not_replace_the_opening() -> None:
    story = Story()
    story.put("queued", 9.0, 0.5)
    assert story.decide() == Decision("opening", 3.0)


def test_other_workers_start_bracket_0_while_the_opening_runs() -> None:
    story = Story()
    story.start()
    assert story.decide().kind == "new"


def test_the_opening_is_no_member_of_bracket_0() -> None:
    story = Story()
    story.run(lambda config, z: 0.5 if config else 0.9, [], after_bracket_0)
    assert len(story.jobs()) == 1 + 9 + 3 + 1


# The guard (rule 3)


def guarded(mode: float | None, draws: Sequence[tuple[str, float | None]]) -> dict[str, float]:
    """The shares after the mode on rung 1 and some draws on rung 0."""
    story = Story()
    story.step(mode)
    for draw, loss in draws:
        assert story.decide().kind == "new"
        story.step(loss, draw)
    found = story.decide().shares
    assert found is not None
    return found


def test_the_first_draws_are_uniform() -> None:
    for made in range(3):
        assert guarded(0.9, [("uniform", 0.5)] * made) == shares(1.0, 0.0, 0.0)


def test_a_uniform_incumbent_means_odds_of_1_to_9_for_the_prior() -> None:
    assert guarded(0.9, [("uniform", 0.5)] * 3) == near(shares(0.9, 0.1, 0.0))


def test_a_draw_from_the_prior_as_incumbent_means_odds_of_9_to_1() -> None:
    draws = [("uniform", 0.5)] * 3 + [("prior", 0.4)]
    assert guarded(0.9, draws) == near(shares(0.1, 0.9, 0.0))


def test_the_mode_as_incumbent_means_odds_of_9_to_1() -> None:
    story = Story()
    story.step(0.3)
    for _ in range(3):
        story.step(0.5)
    assert story.start().parent == 0  # the mode is continued, and running
    assert story.decide().shares == near(shares(0.1, 0.9, 0.0))


def test_the_mode_gets_worse_at_z_max_and_loses_its_trust() -> None:
    story = Story()
    story.step(0.3)
    for _ in range(3):
        story.step(0.5)
    story.step(0.7)
    assert story.decide().shares == near(shares(0.9, 0.1, 0.0))


def test_a_failed_mode_is_not_trusted_even_with_the_prior_ahead() -> None:
    draws = [("uniform", 0.5)] * 3 + [("prior", 0.4)]
    assert guarded(None, draws) == near(shares(0.9, 0.1, 0.0))


def test_without_a_success_nothing_is_trusted() -> None:
    assert guarded(None, [("uniform", None)] * 3) == near(shares(0.9, 0.1, 0.0))


def test_with_a_flat_prior_all_draws_of_bracket_0_are_uniform() -> None:
    story = Story(flat=True)
    for _ in range(9):
        assert story.decide().shares == shares(1.0, 0.0, 0.0)
        story.step(0.5)


def test_a_queued_incumbent_is_not_trusted() -> None:
    story = Story()
    story.step(0.9)
    for draw, loss in [("uniform", 0.5)] * 3 + [("prior", 0.4)]:
        story.step(loss, draw)
    story.put("queued", 2.0, 0.1)
    assert story.decide().shares == near(shares(0.9, 0.1, 0.0))


def test_running_draws_count_among_the_first() -> None:
    story = Story()
    story.step(0.9)
    running = [story.start() for _ in range(3)]
    assert story.decide().shares == near(shares(0.1, 0.9, 0.0))
    for job in running[:2]:
        story.end(job, 1.0)
    assert story.decide().kind == "new"  # one of the draws that the mode is compared with runs
    story.end(running[2], None)
    assert story.decide() == Decision("continue", 9.0, parent=0)


def test_queued_trials_in_bracket_0_are_no_draws() -> None:
    story = Story()
    story.step(0.9)
    for draw in ("queued", "uniform", "queued", "uniform"):
        assert story.decide().shares == shares(1.0, 0.0, 0.0)
        story.step(0.95, draw)
    assert story.decide().shares == shares(1.0, 0.0, 0.0)
    story.step(0.95)
    assert story.decide() == Decision("continue", 9.0, parent=0)


def test_a_draw_that_equals_the_mode_counts_for_itself_when_the_mode_is_to_lead() -> None:
    # As one configuration the mode would count with 0.4 on rung 1, and lead; but draw 1 has 0.1.
    story = Story()
    story.step(0.4)
    for config, loss in ((0, 0.1), (2, 0.5), (3, 0.5)):
        number = len(story.jobs())
        story.events += [Job(number, 1.0, 0, 0, "uniform", None, config), Ended(number, loss)]
    assert story.decide().kind == "new"
    assert story.decide().shares == near(shares(0.1, 0.9, 0.0))  # the configuration is trusted


def test_the_odds_grow_with_the_rung_before_any_full_training() -> None:
    # All nine draws run, so bracket 1 opens on rung 1: odds 3/9 = 1 to 3, or 3*9 = 27 to 1.
    story = Story()
    mode = story.start()
    first = [story.start() for _ in range(9)][0]
    story.end(first, 0.5)
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=story.decide().shares)
    assert story.decide().shares == near(shares(3 / 4, 1 / 4, 0.0))
    story.end(mode, 0.4)
    story.start()  # the mode's continuation
    assert story.decide().shares == near(shares(1 / 28, 27 / 28, 0.0))


# Continuing the mode (rule 4)


def test_the_mode_is_continued_if_it_leads_after_the_uniform_draws() -> None:
    story = Story()
    story.step(0.3)
    for _ in range(3):
        assert story.decide().kind == "new"
        story.step(0.5)
    assert story.decide() == Decision("continue", 9.0, parent=0)
    story.step(0.2)
    assert story.decide().kind == "new"


def test_a_tie_with_a_draw_is_in_favour_of_the_mode() -> None:
    story = Story()
    for _ in range(4):
        story.step(0.5)
    assert story.decide().kind == "continue"


def test_the_mode_waits_while_a_draw_is_better() -> None:
    story = Story()
    story.step(0.5)
    for loss in (0.6, 0.4, 0.7):
        story.step(loss)
    assert story.decide().kind == "new"


def rising(top_rung_1: float) -> Losses:
    """The mode has 0.3 on rung 1, draws 0.1 on rung 0, 0.5 and more on rung 1."""
    return lambda config, z: 0.3 if config == 0 else 0.1 if z == 1.0 else top_rung_1


def test_the_mode_is_continued_if_it_leads_its_rung() -> None:
    # Six draws stay on rung 0 with 0.1 and one of them is the incumbent. On rung 1 there are the
    # mode and three others, 3 + 1, all worse than the mode.
    story = Story()
    story.run(rising(0.5), [], lambda decision: decision.kind == "continue")
    assert story.names()[10:] == ["1_1", "2_1", "3_1"]
    assert story.decide() == Decision("continue", 9.0, parent=0)


def test_the_mode_is_not_continued_if_another_leads_its_rung() -> None:
    story = Story()
    story.run(rising(0.2), [], after_bracket_0)
    assert story.names()[10:] == ["1_1", "2_1", "3_1", "1_2"]


def test_three_successes_on_the_modes_rung_are_too_few() -> None:
    def losses(config: int, z: float) -> float | None:
        return None if (config, z) == (3, 3.0) else rising(0.5)(config, z)

    story = Story()
    story.run(losses, [], after_bracket_0)
    assert story.names()[10:] == ["1_1", "2_1", "3_1", "1_2"]


def test_an_equal_loss_does_not_rank_before_the_mode() -> None:
    story = Story()
    story.run(rising(0.3), [], lambda decision: decision.kind == "continue")
    assert len(story.jobs()) == 13


def test_the_mode_is_continued_once_even_if_that_fails() -> None:
    story = Story()
    story.step(0.3)
    for _ in range(3):
        story.step(0.5)
    story.step(None)
    assert story.decide().kind == "new"
    assert story.decide().shares == near(shares(0.9, 0.1, 0.0))


def test_a_failed_or_running_mode_is_not_continued() -> None:
    for loss in (None, float("inf")):
        story = Story()
        for _ in range(4):
            story.step(loss)
        assert story.decide().kind == "new"
    story = Story()
    story.start()
    for _ in range(3):
        story.step(0.5)
    assert story.decide().kind == "new"


def test_continuing_the_mode_comes_before_promotions() -> None:
    story = Story()
    mode = story.start()
    for _ in range(9):
        story.step(0.5)
    assert story.decide().kind == "promote"
    story.end(mode, 0.4)
    assert story.decide().kind == "continue"


def test_the_mode_is_found_by_its_origin() -> None:
    story = Story()
    story.put("imported", 1.0, 0.8)
    for _ in range(4):
        story.step(0.5)
    assert story.decide() == Decision("continue", 9.0, parent=1)


def test_with_one_rung_the_mode_has_nothing_to_continue() -> None:
    story = Story(ladder=ONE)
    story.step(0.1)
    assert story.decide() == Decision("new", 200.0, 0, 0, shares=shares(1.0, 0.0, 0.0))
    story.step(0.5)
    assert story.decide().shares == near(shares(0.1, 0.9, 0.0))
    story.step(0.5)
    story.step(0.5)
    assert story.decide().bracket == 1


def test_with_two_rungs_one_draw_is_uniform() -> None:
    story = Story(ladder=TWO)
    story.step(0.3)
    story.step(0.5)
    assert story.decide() == Decision("continue", 199.0, parent=0)
    story.step(0.2)
    assert story.decide().shares == near(shares(0.1, 0.9, 0.0))


# ESP (rule 5)


def test_bracket_0_costs_what_its_continued_trainings_cost() -> None:
    assert first_bracket_cost(FOUR) == 243.0
    assert first_bracket_cost(Ladder(3, (3.0, 11.0, 33.0, 100.0))) == 286.0
    assert first_bracket_cost(Ladder(3, (2.0, 6.0, 19.0))) == 43.0
    assert first_bracket_cost(TWO) == 331.0


def test_bracket_1_draws_by_the_scores_of_the_top_set() -> None:
    # Full trainings: the winner alone. Rung 1 has the mode and three others, the highest rung with
    # at least three. The scores are those of the dossier's example of one numeric parameter.
    story = Story()
    losses = {0: 0.9, 5: 0.1, 7: 0.2, 2: 0.3}
    story.run(lambda config, z: losses.get(config, 0.8), [], lambda d: d.kind == "promote")
    asked = []

    def score(top: Sequence[tuple[int, int]], incumbent: int) -> tuple[float, float]:
        asked.append((list(top), incumbent))
        return 3.5125976494, 10.2218462504

    story.run(
        lambda config, z: losses[config],
        [],
        lambda d: d.kind == "promote" and d.rung == 2,
    )
    story.step(0.15)
    decision = decide("guardband", THREE, False, story.events, score)
    assert decision == Decision("new", 3.0, 1, 1, shares=decision.shares)
    assert decision.shares == pytest.approx(shares(0.25, 0.1918132439, 0.5581867561), abs=1e-9)
    assert asked == [([(5, 3), (7, 2), (2, 1)], 5)]


def trainings(fidelity: float, count: int, first: int = 0) -> list[Event]:
    """Queued trials of equal fidelity, the later the better."""
    ids = range(first, first + count)
    jobs: list[Event] = [Job(i, fidelity, None, None, "queued", None, i) for i in ids]
    return jobs + [Ended(i, 1.0 - i / 100) for i in ids]


@pytest.mark.parametrize(
    ("count", "size"), [(3, 3), (4, 3), (8, 3), (9, 3), (12, 4), (27, 9), (30, 10)]
)
def test_the_top_set_holds_a_third_and_at_least_three(count: int, size: int) -> None:
    asked: list[tuple[int, int]] = []

    def score(top: Sequence[tuple[int, int]], incumbent: int) -> tuple[float, float]:
        asked.extend(top)
        return 1.0, 3.0

    found = esp_shares(read(THREE, trainings(9.0, count)), 0, score)
    assert asked == [(count - 1 - place, size - place) for place in range(size)]
    assert found == near(shares(0.5, 0.125, 0.375))


def test_the_scoring_rung_is_the_highest_with_three_results() -> None:
    asked = []

    def score(top: Sequence[tuple[int, int]], incumbent: int) -> tuple[float, float]:
        asked.append((list(top), incumbent))
        return 1.0, 1.0

    events = trainings(1.0, 9) + trainings(3.0, 4, first=20) + trainings(9.0, 2, first=10)
    esp_shares(read(THREE, events), 1, score)
    assert asked == [([(23, 3), (22, 2), (21, 1)], 23)]


def test_without_a_rung_of_three_the_incumbent_gets_a_quarter() -> None:
    # Two full trainings cost 398, more than bracket 0 (331).
    found = esp_shares(read(TWO, trainings(199.0, 2)), 0, unscored)
    assert found == near(shares(0.5, 0.375, 0.125))


def test_two_scores_of_zero_share_evenly() -> None:
    found = esp_shares(read(THREE, trainings(9.0, 3)), 0, lambda top, incumbent: (0.0, 0.0))
    assert found == near(shares(0.5, 0.25, 0.25))


def test_before_bracket_0_is_paid_esp_does_not_perturb_the_incumbent() -> None:
    # The mode is at z_max, 9 of the cost 9*1 + 3*2 + 1*6 = 21 of bracket 0; three draws cost 3.
    story = Story()
    story.step(0.3)
    for _ in range(3):
        story.step(0.5)
    story.step(0.2)  # the mode to z_max
    for _ in range(6):
        story.start()
    assert resources_used(read(THREE, story.events)) == 12.0
    decision = story.decide()
    assert (decision.bracket, decision.rung) == (1, 1)
    assert decision.shares == near(shares(0.25, 0.75, 0.0))


def test_with_a_flat_prior_bracket_0_is_just_paid() -> None:
    third = Ladder(3, (1 / 9, 1 / 3, 1.0))
    story = Story(ladder=third, flat=True)
    story.run(hashed, [], lambda decision: decision.bracket == 1)
    decision = decide("guardband", third, True, story.events, lambda top, incumbent: (1.0, 2.0))
    assert decision.shares == near(shares(0.25, 0.25, 0.5))


def test_imported_results_count_as_far_as_they_go_beyond_our_own() -> None:
    story = Story(flat=True)
    story.put("imported", 9.0, 0.5)
    story.put("queued", 3.0, None)
    assert resources_used(read(THREE, story.events)) == 9.0 + 3.0
    story.events += [Job(2, 3.0, None, None, "queued", None, 0), Ended(2, 0.7)]
    assert resources_used(read(THREE, story.events)) == (9.0 - 3.0) + 3.0 + 3.0
    story.events += [Job(3, 1.0, None, None, "imported", None, 0), Ended(3, 0.7)]
    assert resources_used(read(THREE, story.events)) == 12.0


def test_with_one_rung_the_incumbent_is_active_after_one_training() -> None:
    assert first_bracket_cost(ONE) == 200.0


# The incumbent


def test_a_configuration_counts_with_its_highest_fidelity() -> None:
    events: list[Event] = [
        Job(0, 1.0, 0, 0, "uniform", None, 0),
        Ended(0, 0.1),
        Job(1, 1.0, 0, 0, "prior", None, 1),
        Ended(1, 0.2),
        Job(2, 3.0, 1, 0, "uniform", 0, 0),
    ]

    def best(*more: Event) -> int:
        found = read(THREE, events + list(more)).incumbent()
        assert found is not None
        return found.id

    assert best() == 0  # while it is promoted, it keeps its loss
    assert best(Ended(2, 0.3)) == 1
    assert best(Ended(2, 0.15)) == 2
    assert best(Ended(2, None)) == 1


# guardband+bo: the duel (rule 6)

BAD_MODE = 0.9
FIRST_UNIFORM = ["mode"] + ["uniform"] * 3 + ["prior"] * 6


def bo_story(
    losses: dict[int, float | None],
    top: float | None = 0.2,
    draws: Sequence[str] = FIRST_UNIFORM,
) -> Story:
    """A story up to the end of bracket 0: losses below z_max by configuration (0 is the mode)."""
    story = Story("guardband+bo")
    story.run(
        lambda config, z: top if z == 9.0 else losses.get(config, 0.8), draws, after_bracket_0
    )
    return story


def prior_wins() -> Story:
    """The mode is bad; three draws from the prior reach rung 1, and 4 wins with 0.2."""
    return bo_story({0: BAD_MODE, 1: 0.7, 2: 0.6, 3: 0.7, 4: 0.3, 5: 0.4, 6: 0.5})


def test_the_best_uniform_draw_duels_if_only_the_prior_was_trained_in_full() -> None:
    story = prior_wins()
    assert story.names()[10:] == ["4_1", "5_1", "6_1", "4_2"]
    assert story.decide() == Decision("duel", 9.0, parent=2)


def test_the_duel_prefers_the_highest_rung() -> None:
    # Uniform draw 3 is third on rung 0, is promoted to rung 1 and stays there.
    story = bo_story({0: BAD_MODE, 1: 0.55, 2: 0.6, 3: 0.5, 4: 0.3, 5: 0.4})
    assert story.names()[10:] == ["4_1", "5_1", "3_1", "4_2"]
    promoted = story.jobs()[12]
    assert story.decide() == Decision("duel", 9.0, parent=promoted.id)


def test_a_draw_whose_promotion_failed_does_not_duel() -> None:
    # Uniform draw 3 is third on rung 0, and fails on rung 1; draw 1 is the next uniform one.
    story = Story("guardband+bo")
    low = {0: BAD_MODE, 1: 0.55, 2: 0.6, 3: 0.5, 4: 0.3, 5: 0.4}

    def losses(config: int, z: float) -> float | None:
        return None if config == 3 and z > 1.0 else low.get(config, 0.8)

    story.run(losses, FIRST_UNIFORM, after_bracket_0)
    assert story.names()[10:] == ["4_1", "5_1", "3_1", "4_2"]
    assert story.decide() == Decision("duel", 9.0, parent=1)


def test_there_is_no_duel_if_a_uniform_draw_won() -> None:
    story = bo_story({0: BAD_MODE, 1: 0.3, 4: 0.4, 5: 0.4})
    assert story.decide().kind == "new"


def test_there_is_no_duel_if_the_mode_leads() -> None:
    story = bo_story({0: 0.1, 4: 0.3, 5: 0.4, 6: 0.5})  # both full trainings have 0.2
    assert story.decide() == Decision("model", 9.0, prior_weight=1.0, proven=True)


def test_the_mode_behind_the_prior_at_z_max_leads_to_a_duel() -> None:
    story = Story("guardband+bo")

    def losses(config: int, z: float) -> float:
        if z == 9.0:
            return 0.3 if config == 0 else 0.2
        return {0: 0.1, 4: 0.3, 5: 0.4, 6: 0.5}.get(config, 0.8)

    story.run(losses, FIRST_UNIFORM, after_bracket_0)
    assert story.decide() == Decision("duel", 9.0, parent=1)


def test_there_is_no_duel_without_a_full_training_or_with_the_mode_alone() -> None:
    assert bo_story({0: BAD_MODE, 4: 0.3}, top=None).decide().kind == "new"
    story = Story("guardband+bo")

    def losses(config: int, z: float) -> float | None:
        if z == 9.0:
            return 0.2 if config == 0 else None
        return 0.1 if config == 0 else 0.5

    story.run(losses, FIRST_UNIFORM, after_bracket_0)
    assert story.decide().kind == "new"  # alone: neither a duel nor a proof


def test_there_is_no_duel_without_a_uniform_success() -> None:
    # A queued trial below z_max is the incumbent, so that the mode is not continued.
    story = Story("guardband+bo")
    story.put("queued", 1.0, 0.1)

    def losses(config: int, z: float) -> float | None:
        return {1: BAD_MODE, 2: None, 3: None, 4: None, 5: 0.3}.get(config, 0.4)

    story.run(losses, ["queued", *FIRST_UNIFORM], after_bracket_0)
    assert [job.origin for job in story.jobs() if job.fidelity == 9.0] == ["prior"]
    assert story.decide().bracket == 1


def test_a_queued_full_training_replaces_the_duel() -> None:
    story = prior_wins()
    story.put("queued", 9.0, 0.4)
    assert story.decide() == Decision("model", 9.0, prior_weight=1.0, proven=True)


def test_a_flat_prior_has_no_duel() -> None:
    story = Story("guardband+bo", flat=True)
    story.run(hashed, [], after_bracket_0)
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(0.25, 0.0, 0.75))


def test_the_duel_takes_place_once_and_others_open_bracket_1_meanwhile() -> None:
    story = prior_wins()
    duel = story.start()
    assert (duel.fidelity, duel.bracket, duel.origin) == (9.0, None, "uniform")
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(0.25, 0.0, 0.75))
    story.end(duel, 0.3)
    assert story.decide() == Decision("model", 9.0, prior_weight=1.0, proven=True)


def test_a_failed_duel_means_unproven() -> None:
    story = prior_wins()
    story.step(None)
    assert story.decide().bracket == 1


def test_no_duel_and_no_proof_while_bracket_0_runs() -> None:
    story = Story("guardband+bo")
    losses = {0: BAD_MODE, 4: 0.3, 5: 0.4, 6: 0.5}
    story.run(
        lambda config, z: losses.get(config, 0.8),
        FIRST_UNIFORM,
        lambda decision: decision.rung == 2,
    )
    last = story.start()
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(1.0, 0.0, 0.0))
    story.end(last, 0.2)
    assert story.decide().kind == "duel"


def test_a_proof_at_hand_waits_for_bracket_0() -> None:
    # The mode has 0.8 at z_max and a queued training 0.9, which proves the prior.
    story = Story("guardband+bo")
    story.step(0.7)
    for _ in range(3):
        story.step(0.8)
    story.step(0.8)  # the mode to z_max
    story.put("queued", 9.0, 0.9)
    first = story.start()
    for _ in range(5):
        story.step(None)
    assert is_proven(read(THREE, story.events))
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(0.25, 0.0, 0.75))
    story.end(first, None)
    assert story.decide().kind == "promote"


# Proof (rule 7)


def full(job: int, origin: str, loss: float | None, bracket: int | None = None) -> list[Event]:
    rung = None if bracket is None else 2
    return [Job(job, 9.0, rung, bracket, origin, None, job), Ended(job, loss)]


def proven(*parts: list[Event]) -> bool:
    return is_proven(read(THREE, [event for part in parts for event in part]))


def test_the_mode_ahead_of_all_others_is_a_proof() -> None:
    assert proven(full(0, "mode", 0.2), full(1, "prior", 0.3, 0))
    assert proven(full(0, "mode", 0.2), full(1, "uniform", 0.2, 0))
    assert not proven(full(0, "mode", 0.2))


def test_the_prior_ahead_of_another_origin_is_a_proof() -> None:
    prior, uniform = full(1, "prior", 0.2, 0), full(2, "uniform", 0.3, 1)
    assert proven(full(0, "mode", 0.9), prior, uniform)
    assert proven(full(0, "mode", None), prior, uniform)
    assert proven(prior, uniform)
    assert proven(full(1, "prior", 0.3, 0), uniform)
    assert not proven(full(1, "prior", 0.4, 0), uniform)
    assert not proven(full(0, "mode", 0.9), prior)
    assert not proven(uniform)
    assert not proven()


def test_the_duel_is_another_origin() -> None:
    draw: list[Event] = [Job(2, 1.0, 0, 0, "uniform", None, 2), Ended(2, 0.5)]
    duel = Job(3, 9.0, None, None, "uniform", 2, 2)
    assert proven(full(1, "prior", 0.2, 0), draw, [duel, Ended(3, 0.3)])
    assert not proven(full(1, "prior", 0.2, 0), draw, [duel, Ended(3, 0.1)])
    assert not proven(full(1, "prior", 0.2, 0), draw, [duel, Ended(3, None)])


@pytest.mark.parametrize("origin", ["queued", "imported"])
def test_queued_and_imported_trainings_are_another_origin(origin: str) -> None:
    assert proven(full(0, "mode", 0.2), full(1, origin, 0.3))
    assert not proven(full(0, "mode", 0.2), full(1, origin, 0.1))


def test_a_queued_winner_of_a_later_bracket_is_another_origin() -> None:
    events = full(0, "mode", 0.3) + full(1, "queued", 0.2, bracket=1)
    assert not is_proven(read(THREE, events))
    assert is_proven(read(THREE, full(0, "mode", 0.3) + full(1, "queued", 0.4, bracket=1)))


def test_models_and_perturbations_say_nothing_about_the_prior() -> None:
    found = [full(0, "mode", 0.2), full(1, "uniform", 0.3, 0)]
    assert proven(*found, full(2, "model", 0.1), full(3, "incumbent", 0.1, 1))
    assert not proven(*found, full(2, "uniform", 0.1, 1))
    assert not proven(full(0, "mode", 0.2), full(2, "model", 0.3), full(3, "incumbent", 0.3, 1))


# Model start, weight and patience (rules 8 to 10)


def proven_story() -> Story:
    """Bracket 0 is over: the mode and the winner have 0.2 at z_max."""
    return bo_story({0: 0.1, 4: 0.3, 5: 0.4, 6: 0.5})


def unproven_story() -> Story:
    """Bracket 0 is over: a uniform draw has won with 0.2, and the mode was not continued."""
    return bo_story({0: BAD_MODE, 1: 0.3})


def test_a_proven_prior_starts_the_model_after_bracket_0() -> None:
    assert proven_story().decide() == Decision("model", 9.0, prior_weight=1.0, proven=True)


def test_an_unproven_prior_starts_the_model_after_bracket_1() -> None:
    story = unproven_story()
    for _ in range(3):
        assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(0.25, 0.0, 0.75))
        story.step(0.6, "incumbent")
    assert story.decide().kind == "promote"
    story.step(0.6)
    assert story.decide() == Decision("model", 9.0, prior_weight=0.0, proven=False)


def test_while_bracket_1_runs_an_unproven_study_opens_bracket_2() -> None:
    story = unproven_story()
    running = [story.start("incumbent") for _ in range(3)]
    assert story.decide() == Decision("new", 1.0, 2, 0, shares=shares(0.5, 0.0, 0.5))
    for job in running:
        story.end(job, 0.6)
    assert story.decide().kind == "promote"


def test_the_priors_weight_falls_after_ten_full_trainings() -> None:
    story = proven_story()  # two full trainings
    for made in range(2, 14):
        decision = story.decide()
        assert decision.kind == "model"
        assert decision.prior_weight == pytest.approx(min(1.0, 10 / made))
        story.step(0.19 - made / 100)  # always better, so patience never ends
    assert story.decide().prior_weight == pytest.approx(10 / 14)


def test_failed_trainings_do_not_lower_the_priors_weight() -> None:
    story = proven_story()
    for _ in range(9):
        story.put("queued", 9.0, None)
    assert story.decide().prior_weight == 1.0


def test_three_model_trainings_without_gain_exhaust_a_proven_models_patience() -> None:
    story = proven_story()
    story.step(0.2)  # equal is no gain
    story.step(None)
    story.step(0.1)  # a gain: counted from 0 again
    for loss in (0.1, 0.3, 0.4):
        assert story.decide().kind == "model"
        story.step(loss)
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(0.25, 0.0, 0.75))
    for _ in range(4):
        story.step(0.6, "incumbent")
    assert story.decide().kind == "model"


def test_one_model_training_without_gain_exhausts_an_unproven_models_patience() -> None:
    story = unproven_story()
    for _ in range(4):
        story.step(0.6, "incumbent")
    story.step(0.1)
    assert story.decide().kind == "model"
    story.step(0.1)
    assert story.decide() == Decision("new", 1.0, 2, 0, shares=shares(0.5, 0.0, 0.5))


def test_running_model_trainings_do_not_count_for_patience() -> None:
    story = proven_story()
    running = [story.start() for _ in range(5)]
    assert [job.origin for job in running] == ["model"] * 5
    for job in running[:2]:
        story.end(job, 0.3)
    assert story.decide().kind == "model"
    story.end(running[2], 0.3)
    assert story.decide().kind == "new"


def test_model_trainings_asked_before_the_last_bracket_do_not_count_for_patience() -> None:
    story = proven_story()
    running = [story.start() for _ in range(6)]
    for job in running[:3]:
        story.end(job, 0.3)
    for _ in range(4):
        assert story.step(0.6, "incumbent").bracket == 1
    for job in running[3:]:
        story.end(job, 0.3)
    assert story.decide().kind == "model"


def test_a_better_full_training_of_any_origin_renews_patience() -> None:
    story = proven_story()
    for _ in range(3):
        story.step(0.3)
    assert story.decide().kind == "new"
    story.put("queued", 9.0, 0.1)  # also disproves the prior, and bracket 1 has not been run
    assert story.decide().bracket == 1
    for _ in range(4):
        story.step(0.6, "incumbent")
    assert story.decide() == Decision("model", 9.0, prior_weight=0.0, proven=False)


def test_a_uniform_winner_of_a_later_bracket_disproves_the_prior() -> None:
    story = proven_story()
    for _ in range(3):
        story.step(0.3)
    for loss in (0.3, 0.4, 0.5, 0.1):
        story.step(loss, "uniform")
    assert story.decide() == Decision("model", 9.0, prior_weight=0.0, proven=False)


def test_a_flat_prior_is_never_proven() -> None:
    story = Story("guardband+bo", flat=True)
    story.run(hashed, [], lambda decision: decision.kind == "model")
    assert story.decide() == Decision("model", 9.0, prior_weight=0.0, proven=False)


# Brackets from 1 on, and one rung (rules 11 and 14)


def test_without_a_full_success_later_brackets_are_uniform() -> None:
    story = bo_story({0: BAD_MODE, 1: 0.3}, top=None)
    assert story.decide() == Decision("new", 3.0, 1, 1, shares=shares(1.0, 0.0, 0.0))


def test_with_one_rung_the_model_follows_three_trainings() -> None:
    story = Story("guardband+bo", ONE)
    for loss in (0.2, 0.5, 0.4, 0.3):
        story.step(loss, "prior" if story.configs > 1 else "uniform")
    assert story.decide() == Decision("model", 200.0, prior_weight=1.0, proven=True)


def test_with_two_rungs_bracket_1_is_two_full_trainings() -> None:
    story = Story("guardband+bo", TWO, flat=True)
    story.run(hashed, [], lambda decision: decision.kind == "model")
    assert story.names() == ["0_0", "1_0", "2_0", "0_1", "3_1", "4_1"]


def test_with_one_rung_an_unproven_model_waits_for_one_more_training() -> None:
    story = Story("guardband+bo", ONE, flat=True)
    story.run(hashed, [], lambda decision: decision.kind == "model")
    assert [job.bracket for job in story.jobs()] == [0, 0, 0, 1]


# What people ask for


def queued(story: Story) -> Decision:
    ladder, events = story.ladder, story.events
    return decide(story.method, ladder, story.flat, events, unscored, queued=True)


def test_a_queued_configuration_takes_the_place_of_a_draw_before_the_opening() -> None:
    assert queued(Story()) == Decision("queued", 1.0, 0, 0)


def test_a_queued_configuration_waits_for_promotions_and_the_mode() -> None:
    story = Story()
    story.step(0.3)
    for _ in range(3):
        story.step(0.5)
    assert queued(story) == story.decide() == Decision("continue", 9.0, parent=0)
    for _ in range(7):
        story.step(0.6)
    assert queued(story) == story.decide() and story.decide().kind == "promote"


def test_a_queued_configuration_takes_the_place_of_a_model_training() -> None:
    assert queued(proven_story()) == Decision("queued", 9.0)


def again(story: Story, failed: Job, loss: float | None = None) -> Job:
    """Ask for a failed trial again; it runs if it has no loss."""
    job = replace(failed, id=len(story.jobs()), retry_of=failed.id)
    story.events.append(job)
    if loss is not None:
        story.end(job, loss)
    return job


def test_a_bracket_waits_for_a_retried_trial_and_promotes_it() -> None:
    story = Story(flat=True)
    failed = story.step(None)
    for _ in range(8):
        story.step(0.5)
    assert story.decide().kind == "promote"
    retry = again(story, failed)
    assert story.decide().bracket == 1
    story.end(retry, 0.1)
    assert story.decide() == Decision("promote", 3.0, 0, 1, parent=retry.id)


def test_a_retried_mode_is_the_mode() -> None:
    story = Story()
    failed = story.step(None)
    for loss in (0.5, 0.5, 0.5):
        story.step(loss)
    assert story.decide().shares == near(shares(0.9, 0.1, 0.0))
    retry = again(story, failed, 0.4)
    assert story.decide() == Decision("continue", 9.0, parent=retry.id)
    continued = story.step(None)
    story.step(0.1, "prior")
    assert story.decide().shares == near(shares(0.9, 0.1, 0.0))
    again(story, continued, 0.2)
    assert story.decide().shares == near(shares(0.1, 0.9, 0.0))


def test_a_failure_stays_a_result_of_its_configuration_while_it_is_retried() -> None:
    story = Story()
    story.step(0.3)
    for _ in range(3):
        story.step(0.5)
    continued = story.step(None)  # the mode to z_max
    retry = again(story, continued)
    found = read(THREE, story.events).incumbent()
    assert found is not None and found.origin == "uniform"
    assert resources_used(read(THREE, story.events)) == 3.0 + 3.0 + 6.0
    story.end(retry, 0.4)
    assert read(THREE, story.events).incumbent() == retry
    assert resources_used(read(THREE, story.events)) == 3.0 + 3.0 + 6.0 + 6.0


def test_a_draw_that_failed_has_ended_even_if_it_is_retried() -> None:
    story = Story()
    story.step(0.3)
    failed = story.step(None)
    again(story, failed)
    story.step(0.5)
    assert story.decide().shares == shares(1.0, 0.0, 0.0)  # two draws, one of them twice
    story.step(0.5)
    assert story.decide().kind == "continue"


def test_a_retried_model_training_counts_twice_for_patience() -> None:
    story = proven_story()
    failed = story.step(None)
    again(story, failed, 0.9)
    assert story.decide().kind == "model"
    story.step(0.9)
    assert story.decide().kind == "new"


# Input that cannot be


def test_impossible_histories_are_refused() -> None:
    job = Job(0, 1.0, 0, 0, "uniform", None, 0)
    with pytest.raises(ValueError, match="asked twice"):
        read(THREE, [job, job])
    with pytest.raises(ValueError, match="unknown job 7"):
        read(THREE, [Job(1, 3.0, 1, 0, "uniform", 7, 0)])
    with pytest.raises(ValueError, match="ended without running"):
        read(THREE, [job, Ended(0, 0.1), Ended(0, 0.1)])
    again = Job(1, 1.0, 0, 0, "uniform", None, 0, retry_of=0)
    with pytest.raises(ValueError, match="did not fail"):
        read(THREE, [job, Ended(0, 0.1), again])
    with pytest.raises(ValueError, match="retried twice"):
        read(THREE, [job, Ended(0, None), again, replace(again, id=2)])
    with pytest.raises(ValueError, match="must rise"):
        Ladder(3, (1.0, 1.0))
    with pytest.raises(ValueError, match="at least 2"):
        Ladder(1, (1.0,))
    with pytest.raises(ValueError, match="method is 'hyperband'"):
        decide("hyperband", THREE, False, [], unscored)


# What holds in every history


def spread(rng: random.Random, found: Decision) -> str:
    """A source drawn by its share."""
    assert found.shares is not None
    assert sum(found.shares.values()) == pytest.approx(1.0)
    return rng.choices(list(found.shares), list(found.shares.values()))[0]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("method", ["guardband", "guardband+bo"])
def test_any_order_of_ends_keeps_rungs_synchronous(method: str, seed: int) -> None:
    rng = random.Random(seed)
    story = Story(method, rng.choice([ONE, TWO, THREE]), flat=seed % 4 == 0)
    workers = rng.choice([1, 3, 8])
    running: list[Job] = []
    for _ in range(70):
        found = decide(method, story.ladder, story.flat, story.events, evenly)
        draw = spread(rng, found) if found.kind == "new" else "model"
        if found.kind == "promote":
            assert found.bracket is not None and found.rung is not None
            below = [
                job
                for job in story.jobs()
                if job.bracket == found.bracket and job.rung == found.rung - 1
            ]
            assert not any(job in running for job in below)
        running.append(story.add(found, "mode" if found.kind == "opening" else draw))
        if len(running) >= workers:
            job = running.pop(rng.randrange(len(running)))
            story.end(job, None if rng.random() < 0.2 else rng.random())
    jobs = story.jobs()
    assert sum(job.origin == "mode" for job in jobs) <= 2
    parents = [job.parent for job in jobs if job.parent is not None]
    assert len(parents) == len(set(parents))
