"""Importance is the divergence of the best from comparable configurations."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amounts import slow
from analysed_studies import busy, in_memory

import priorband as pb
from priorband.errors import ArgumentError
from priorband.study_analysis import as_json, parameter_importance, study_data
from priorband.study_analysis.cell_densities import ParameterCells, parameter_cells
from priorband.study_analysis.importance import draw_sources
from priorband.study_analysis.trial_columns import Floats

SPACE = pb.Space(a=pb.Float(0, 1), b=pb.Float(0, 1), d=pb.Categorical(["x", "y", "z"]))


def cells_of(cells: list[int], size: int) -> ParameterCells:
    return ParameterCells(np.array(cells), size, ordered=False)


def test_the_divergence_of_choices_by_hand() -> None:
    """Of nine configurations, three per choice, the best two have choice 1; one more is spread.

    p = (1/9, 7/9, 1/9) of the best, q = 1/3 each of all: the sum of (p - q)^2 / q is 8/9.
    """
    choices = cells_of([1, 1, 1, 0, 0, 0, 2, 2, 2], 3)
    best = np.array([1.0, 1.0] + [0.0] * 7)
    expected = 3 * (2 * (1 / 9 - 1 / 3) ** 2 + (7 / 9 - 1 / 3) ** 2)
    assert choices.divergence(best, np.ones(9)) == pytest.approx(expected)
    assert choices.divergence(np.ones(9), np.ones(9)) == pytest.approx(0)


def test_a_conditional_parameter_counts_as_its_part_of_the_whole() -> None:
    """It is active in both of the best and in four of eight: a^2 / b is 1 / 0.5."""
    active = [0, 0, 1, 1]
    alone, best = cells_of(active, 2), np.array([1.0, 1.0, 0.0, 0.0])
    among = cells_of([*active, -1, -1, -1, -1], 2)
    whole = among.divergence(np.append(best, np.zeros(4)), np.ones(8))
    assert whole == pytest.approx(2 * alone.divergence(best, np.ones(4)))
    nobody = cells_of([-1, -1, 0, 1], 2)
    assert nobody.divergence(best, np.ones(4)) == 0.0


def test_cells_of_numbers_are_their_values_or_fiftieths() -> None:
    integer, real = pb.Integer(1, 4), pb.Float(0, 1)
    unit = np.array([integer.encode(v) for v in (1, 2, 3, 4)] + [math.nan])
    cells = parameter_cells("integer", integer, unit, unit)
    assert (cells.cell.tolist(), cells.size, cells.count) == ([0, 1, 2, 3, -1], 4, 4)
    cells = parameter_cells("float", real, np.array([0.0, 0.019, 0.02, 1.0]), unit)
    assert (cells.cell.tolist(), cells.size) == ([0, 0, 1, 49], 50)


def exact_shares(loss: Callable[[Any, Any, Any], Floats], quantile: float = 0.1) -> Floats:
    """The shares by the definition, on a fine grid of the space instead of a sample."""
    side = (np.arange(200) + 0.5) / 200
    a, b, d = np.meshgrid(side, side, np.arange(3), indexing="ij")
    losses = loss(a, b, d)
    top = losses <= np.quantile(losses, quantile)
    sums = [top.sum(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
    p = [each / top.sum() for each in sums]
    found = np.array([float((len(each) * (each - 1 / len(each)) ** 2).sum()) for each in p])
    shares: Floats = found / found.sum()
    return shares


PROBLEMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one": lambda a, b, d: abs(a - 0.3) + 0.001 * b,
    "two": lambda a, b, d: 2 * abs(a - 0.3) + 0.5 * b**2 + 0.2 * (d != 1),
    "choice": lambda a, b, d: 2 * abs(a - 0.3) + b**2 + (d != 1),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_it_comes_close_to_the_definition_by_numerical_integration(problem: str) -> None:
    """With 2,000 uniform draws, within 0.05 of each share."""
    study = pb.Study(SPACE, method="random", seed=1)
    for _ in range(2000):
        trial = study.ask()
        config = trial.config
        loss = PROBLEMS[problem](config["a"], config["b"], "xyz".index(config["d"]))
        study.tell(trial, float(loss))
    found = parameter_importance(study_data(study))
    assert found.importance == pytest.approx(exact_shares(PROBLEMS[problem]), abs=0.05)
    assert (found.used, found.best, found.rung, found.fidelity) == (2000, 200, 0, 1)
    assert found.importance.sum() == pytest.approx(1)
    assert (found.lower <= found.importance).all() and (found.importance <= found.upper).all()


def tuned(method: str, trials: int, seed: int) -> pb.Study:
    """A study in which one of three parameters counts, on which the prior is right."""
    space = pb.Space({name: pb.Float(0, 1, prior=0.3) for name in ("real", "still", "quiet")})
    study = pb.Study(space, pb.Fidelity("epochs", 1, 9), method, seed=seed)
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, abs(trial.config["real"] - 0.31) + 1 / trial.fidelity)
    return study


@pytest.mark.parametrize("method", ["priorband", "random+prior(50%)"])
def test_what_only_comes_along_with_a_good_source_is_not_important(method: str) -> None:
    """Compared with all that was evaluated, "still" and "quiet" would be, too."""
    found = parameter_importance(study_data(tuned(method, 600, 0)))
    assert found.importance[0] > 0.8
    assert found.clear.tolist() == [True, False, False]


@slow
def test_parameters_without_effect_are_called_clear_in_one_case_of_twenty() -> None:
    """In 40 studies with two such parameters: 4 of 80 expected, 12 would be one case in 1,500.

    The one that counts is found in most, although all sources draw it near its best value.
    """
    clear = [
        parameter_importance(study_data(tuned("priorband", 200, seed))).clear for seed in range(40)
    ]
    assert np.sum(clear, axis=0)[0] >= 30
    assert np.sum(clear, axis=0)[1:].sum() < 12


def test_sources_are_origins_and_the_incumbent_that_was_drawn_around() -> None:
    study = busy(in_memory(), 200)
    data = study_data(study)
    sources, history = draw_sources(data), study.state.history
    expected, state, near = list[Any](), study.problem.start(), dict[int, Any]()
    for event in history.events:
        trial = getattr(event, "trial", None)
        if isinstance(trial, pb.Trial):
            if trial.parent is None and trial.origin == "incumbent":
                assert state.incumbent is not None
                near[trial.id] = tuple(state.incumbent.config.items())
            expected.append((trial.origin, near.get(trial.root)))
        state = state.after(event)
    names = {source: key for source, key in zip(sources.tolist(), expected, strict=True)}
    assert [names[source] for source in sources.tolist()] == expected
    assert len(names) == len({*expected})
    assert len({key for key in expected if key[0] == "incumbent"}) > 1


def test_too_few_configurations_are_not_enough() -> None:
    study = pb.Study(SPACE, pb.Fidelity("epochs", 1, 3), "asha")
    for count in range(19):
        study.tell(study.ask(), count)
    found = parameter_importance(study_data(study))
    assert not found.enough and found.rung == 0 and 10 <= found.used < 20
    assert np.isnan(found.importance).all() and not found.clear.any()
    assert parameter_importance(study_data(study), least=10).enough
    for wrong in ({"least": 9}, {"least": "20"}, {"rung": 2}, {"rung": -1}, {"rung": 0.5}):
        with pytest.raises(ArgumentError):
            parameter_importance(study_data(study), **wrong)


def test_the_rung_with_most_configurations_is_used_and_diverged_trials_count() -> None:
    study = pb.Study(SPACE, pb.Fidelity("epochs", 1, 3), "asha")
    for _ in range(80):
        trial = study.ask()
        study.tell(trial, math.nan if trial.config["d"] == "x" else trial.config["a"])
    data = study_data(study)
    found, above = parameter_importance(data), parameter_importance(data, rung=1, least=10)
    assert (found.rung, found.fidelity, above.rung, above.fidelity) == (0, 1, 1, 3)
    assert found.used == np.count_nonzero(data.trials.rung == 0) == 80 - above.used
    assert found.clear[0] and found.count.tolist() == [found.used] * 3


def test_it_is_the_same_each_time() -> None:
    study = busy(in_memory(), 150)
    first, second = (as_json(parameter_importance(study_data(study))) for _ in range(2))
    assert first == second and first["enough"]
