"""The test vectors of the algorithm's description: shares, scores and activation.

Vector 1 is in `test_ladder.py`, 6 and 7 are in `test_normal.py`, 9, 10 and 18 in
`test_schedules.py`, 12 in `test_hartmann.py`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from priorband import Categorical, Fidelity, Float, Normal, Space, Study, optimizer
from priorband.ladder import Ladder
from priorband.samplers import Ensemble
from priorband.samplers.ensemble_policy import ConstantShare, Decay, Geometric, Linear, active
from priorband.samplers.local import partner_share
from priorband.samplers.scores import Scores, incumbent_share, log_score, scores, top_size
from priorband.schedulers.asynchronous import bracket_shares

FOUR_RUNGS = [(3, 81), (3, 100), (1, 52), (3, 200), (1, 74), (3, 99)]
UNIT = Space({"x": Float(0.0, 1.0, prior=0.3)})


def study_of(
    space: Space, best_first: Sequence[Mapping[str, Any]], method: str = "priorband"
) -> Study:
    """A study with three rungs below its full trainings, and these of them, best first."""
    study = Study(space, Fidelity("epochs", 3, 81), method)
    for rank, config in enumerate(best_first):
        study.add(config, loss=float(rank))
    return study


@pytest.mark.parametrize(
    ("eta", "shares"),
    [
        (2, [0.5, 0.333333, 0.2, 0.111111]),
        (3, [0.5, 0.25, 0.1, 0.0357142857]),
        (4, [0.5, 0.2, 0.0588235, 0.0153846]),
    ],
)
def test_tv2_the_uniform_share_falls_geometrically_with_the_rung(
    eta: int, shares: list[float]
) -> None:
    state = Study(UNIT, Fidelity("epochs", 1, 1000), optimizer("priorband", eta=eta)).state
    assert [Geometric()(state, rung) for rung in range(4)] == pytest.approx(shares, abs=6e-7)
    assert [Ensemble()(state, rung).p_uniform for rung in range(4)] == pytest.approx(
        [1 / (1 + eta**rung) for rung in range(4)], rel=1e-15
    )


def test_tv3_one_number_is_scored_to_all_digits() -> None:
    state = study_of(UNIT, [{"x": 0.8}, {"x": 0.7}, {"x": 0.35}]).state
    found = scores(state)
    assert found is not None and (found.rung, found.top) == (3, 3)
    assert math.exp(found.prior) == pytest.approx(3.5125976494, abs=6e-11)
    assert math.exp(found.incumbent) == pytest.approx(10.2218462504, abs=6e-11)
    assert found.incumbent - found.prior == pytest.approx(1.0681713844, abs=6e-11)
    assert incumbent_share(found) == pytest.approx(0.7442490082, abs=6e-11)
    assert abs(incumbent_share(found) - 0.7219918412) > 0.02  # what it is without truncation


def test_tv3_shares_at_every_rung() -> None:
    state = study_of(UNIT, [{"x": 0.8}, {"x": 0.7}, {"x": 0.35}]).state
    expected = [
        (0.5, 0.1278754959, 0.3721245041),
        (0.25, 0.1918132439, 0.5581867561),
        (0.1, 0.2301758926, 0.6698241074),
        (0.0357142857, 0.2466170278, 0.7176686865),
    ]
    for rung, shares in enumerate(expected):
        assert Ensemble()(state, rung).probabilities == pytest.approx(shares, abs=6e-11)


def test_tv3_densities_are_truncated_and_untruncated_ones_would_score_otherwise() -> None:
    rows = UNIT.encode([{"x": 0.8}, {"x": 0.7}, {"x": 0.35}])
    prior, around = UNIT.prior, UNIT.prior.around({"x": 0.8})
    assert np.exp(prior.logpdf(rows)) == pytest.approx(
        [0.2447528740, 0.5028284328, 1.7726821616], abs=6e-11
    )
    assert np.exp(around.logpdf(rows)) == pytest.approx(
        [2.0264829475, 1.8706795345, 0.4010383390], abs=6e-11
    )
    untruncated = Scores(
        prior=log_score(prior.logpdf(rows) + math.log(0.8823751994)),
        incumbent=log_score(around.logpdf(rows) + math.log(0.7874574635)),
        rung=3,
        top=3,
    )
    assert incumbent_share(untruncated) == pytest.approx(0.7219918412, abs=1e-9)


def test_tv4_a_log_number_and_a_category_are_scored_to_all_digits() -> None:
    space = Space(
        {
            "x": Float(1e-4, 1e-1, log=True, prior=1e-2),
            "c": Categorical(("adam", "sgd", "rms"), prior="adam"),
        }
    )
    top = [{"x": 1e-3, "c": "sgd"}, {"x": 3e-3, "c": "sgd"}, {"x": 2e-2, "c": "adam"}]
    rows = space.encode(top)
    assert rows[:, 0] == pytest.approx([0.3333333333, 0.4923737516, 0.7670099986], abs=6e-11)
    assert np.exp(space.prior.logpdf(rows)) == pytest.approx(
        [0.1208232885, 0.2304868427, 1.0845951127], abs=6e-11
    )
    assert np.exp(space.prior.around(top[0]).logpdf(rows)) == pytest.approx(
        [1.1755745694, 0.9602190785, 0.0652753412], abs=6e-11
    )
    found = scores(study_of(space, top).state)
    assert found is not None
    assert math.exp(found.prior) == pytest.approx(1.9080386634, abs=6e-11)
    assert math.exp(found.incumbent) == pytest.approx(5.5124372065, abs=6e-11)
    assert incumbent_share(found) == pytest.approx(0.7428684229, abs=6e-11)


def cube(dimensions: int, sigma: float, centre: float) -> Space:
    belief = Normal(centre, sigma=sigma)
    return Space({f"x{i}": Float(0.0, 1.0, prior=belief) for i in range(dimensions)})


def diagonal(space: Space, value: float) -> dict[str, float]:
    return dict.fromkeys(space.names, value)


def test_tv5_fourteen_dimensions_leave_the_prior_next_to_nothing() -> None:
    space = cube(14, 0.25, 0.1)
    found = scores(study_of(space, [diagonal(space, u) for u in (0.9, 0.85, 0.8)]).state)
    assert found is not None
    assert found.prior == pytest.approx(-42.4183551755, abs=6e-11)
    assert found.incumbent == pytest.approx(14.0375196370, abs=6e-11)
    against = Scores(found.incumbent, found.prior, found.rung, found.top)
    assert incumbent_share(against) == pytest.approx(3.0305754e-25, rel=1e-7)
    assert incumbent_share(found) == 1.0


def test_tv5_fifty_narrow_dimensions_underflow_only_without_logs() -> None:
    space = cube(50, 0.05, 0.1)
    study = study_of(space, [diagonal(space, u) for u in (0.9, 0.85, 0.8)])
    found = scores(study.state)
    assert found is not None
    assert math.exp(found.prior) == 0.0
    assert found.prior == pytest.approx(-4795.0096675, abs=6e-8)
    assert found.incumbent == pytest.approx(106.0889448, abs=6e-8)
    assert sum(Ensemble()(study.state, 0).probabilities) == 1.0


@pytest.mark.parametrize(("at", "lead", "share"), [(0.5, 0.0, 0.5), (0.52, 320.0, 1.0)])
def test_tv5_scores_that_both_underflow_still_compare(at: float, lead: float, share: float) -> None:
    """The incumbent's result is off the rungs, so the full trainings alone are scored."""
    space = cube(40, 0.05, 0.0)
    [row] = space.encode([diagonal(space, at)])
    alone = np.array([row])
    prior, around = (
        space.prior.logpdf(alone),
        space.prior.around(diagonal(space, 1.0)).logpdf(alone),
    )
    assert math.exp(log_score(prior)) == 0.0
    assert log_score(around) - log_score(prior) == pytest.approx(lead, abs=1e-9)
    if at == 0.5:
        assert log_score(prior) == pytest.approx(-1889.2023632, abs=6e-8)
    study = study_of(space, [diagonal(space, at)] * 3)
    for x, loss in ((1.0, -1.0), (0.3, 9.0), (0.4, 9.0)):
        study.add(diagonal(space, x), loss, fidelity=60)
    found = scores(study.state)
    assert found is not None
    assert incumbent_share(found) == pytest.approx(share, abs=1e-12)
    assert Ensemble()(study.state, 0).p_incumbent == pytest.approx(share / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("bounds", "finished"),
    [(bounds, (39, 40, 40)) for bounds in FOUR_RUNGS]
    + [((1, 19), (12, 13, 13)), ((45, 199), (3, 4, 4))],
)
def test_tv8_the_incumbent_is_active_after_so_many_results(
    bounds: tuple[int, int], finished: tuple[int, int, int]
) -> None:
    methods = ("priorband", "priorband(mode@min)", "priorband(no-mode)")
    for method, expected in zip(methods, finished, strict=True):
        assert activation(Fidelity("epochs", *bounds), method) == expected


@pytest.mark.parametrize(
    ("low", "high", "finished"), [(1 / 27, 1.0, 40), (0.1, 8.1, 121), (0.05, 2.0, 40)]
)
def test_tv8_rounding_of_real_fidelities_does_not_delay_activation(
    low: float, high: float, finished: int
) -> None:
    """Without the mode, the first bracket's cost is reached exactly with its last result."""
    assert activation(Fidelity("share", low, high), "priorband(no-mode)") == finished


def activation(fidelity: Fidelity, method: str) -> int:
    """How many trials one worker has finished when the incumbent may first be used."""
    study = Study(UNIT, fidelity, method, seed=8)
    for finished in range(1, 200):
        trial = study.ask()
        study.tell(trial, abs(trial.config["x"] - 0.6))
        if active(study.state):
            return finished
    return 200


@pytest.mark.parametrize(
    ("high", "shares"),
    [
        (3, [0.6, 0.4]),
        (9, [0.5455, 0.2727, 0.1818]),
        (27, [0.5510, 0.2449, 0.1224, 0.0816]),
        (81, [0.5694, 0.2373, 0.1054, 0.0527, 0.0351]),
    ],
)
def test_tv11_base_rungs_are_drawn_in_proportion_to_bracket_sizes(
    high: int, shares: list[float]
) -> None:
    found = bracket_shares(Ladder(Fidelity("epochs", 1, high)))
    assert found == pytest.approx(shares, abs=6e-5)
    assert sum(found) == pytest.approx(1.0, abs=1e-15)
    if high == 27:
        assert found == pytest.approx([size / 49 for size in (27, 12, 6, 4)], rel=1e-14)


@pytest.mark.filterwarnings("ignore::priorband.errors.SingleRungWarning")
@pytest.mark.parametrize(
    ("high", "shares"), [(27, [0.5, 0.375, 0.3, 0.25]), (9, [0.5, 0.333333, 0.25]), (1, [0.5])]
)
def test_tv13_the_linear_share_falls_evenly_in_its_weight(high: int, shares: list[float]) -> None:
    state = Study(UNIT, Fidelity("epochs", 1, high)).state
    assert [Linear()(state, rung) for rung in range(len(shares))] == pytest.approx(shares, abs=6e-7)


def test_tv13_the_constant_share_trusts_the_prior_eta_times_as_much() -> None:
    assert ConstantShare()(Study(UNIT, Fidelity("epochs", 3, 81)).state)[0] == 0.25


@pytest.mark.parametrize(
    ("by", "after", "expected"),
    [
        ("brackets", [0, 13, 17, 20], [0.5, 0.666667, 0.8, 0.888889]),
        ("resources", [13, 17, 20, 33], [0.0, 0.5, 0.75, 0.875]),
    ],
)
def test_tv13_the_prior_decays_with_brackets_or_with_resources(
    by: str, after: list[int], expected: list[float]
) -> None:
    """The first brackets of three rungs take 13, 4, 3 and 13 trials, and 21, 15, 27 and 21 units.

    Resources are counted in eta full trainings, here 27 units.
    """
    study = Study(UNIT, Fidelity("epochs", 1, 9), "hyperband")
    shares = []
    for _ in range(34):
        shares.append(Decay(by)(study.state)[0])
        study.tell(study.ask(), 0.0)
    assert [shares[trials] for trials in after] == pytest.approx(expected, abs=6e-7)


def test_tv13_rounding_of_real_fidelities_does_not_delay_the_decay() -> None:
    """Four rungs: the first bracket's 40 trials cost exactly eta full trainings."""
    study = Study(UNIT, Fidelity("share", 1 / 27, 1.0), "hyperband")
    for _ in range(40):
        study.tell(study.ask(), 0.0)
    assert Decay("resources")(study.state)[0] == 0.5


def test_tv13_the_crossovers_partner_is_from_the_prior_when_both_are_trusted_alike() -> None:
    assert partner_share((0.5, 0.2, 0.3)) == pytest.approx(0.8, abs=1e-15)


def test_tv15_the_top_set_is_one_in_eta_but_at_least_eta() -> None:
    members = [3, 4, 8, 9, 10, 12, 27, 30]
    assert [top_size(m, 3) for m in members] == [3, 3, 3, 3, 3, 4, 9, 10]


@pytest.mark.parametrize("members", [3, 4, 8, 9, 10, 12, 27, 30])
def test_tv15_so_many_trials_are_scored(members: int) -> None:
    expected = {3: 3, 4: 3, 8: 3, 9: 3, 10: 3, 12: 4, 27: 9, 30: 10}[members]
    configs = [{"x": (i + 0.5) / members} for i in range(members)]
    found = scores(study_of(UNIT, configs).state)
    assert found is not None and found.top == expected
    rows = UNIT.encode(configs[:expected])
    assert found.prior == pytest.approx(log_score(UNIT.prior.logpdf(rows)), abs=1e-12)
