"""The prior by parameter: what it says of numbers, of choices, and if it is the user's own."""

import numpy as np
import pytest

import priorband as pb
from priorband.study_analysis import config_columns, study_data
from priorband.study_analysis.prior_densities import prior_densities
from priorband.study_analysis.source import StudyData

SPACE = pb.Space(
    {
        "x": pb.Float(0, 2, prior=pb.Normal(0.5, 0.2)),
        "n": pb.Integer(1, 64, log=True),
        "depth": pb.Ordinal([1, 2, 4, 8], prior=pb.Weights({1: 1, 2: 5, 4: 2, 8: 2})),
        "kind": pb.Categorical(
            {"a": {"only": pb.Float(0, 1, prior=0.9)}, "b": {}}, prior={"a": 1, "b": 3}
        ),
        "fixed": pb.Constant(3),
    }
)


def of(space: pb.Space, prior: object = None) -> StudyData:
    return study_data(pb.Study(space, method="random+prior", prior=prior))  # type: ignore[arg-type]  # any


def test_a_normal_belief_is_a_normal_density_within_the_bounds() -> None:
    x = prior_densities(of(SPACE))[0]
    bell = np.exp(-0.5 * ((x.position - 0.25) / 0.2) ** 2)
    share = x.density / bell
    assert share == pytest.approx(np.full(len(share), share[0]))
    assert np.trapezoid(x.density, x.position) == pytest.approx(1, abs=1e-3)
    assert x.mode == pytest.approx(0.25) and not x.flat


def test_choices_have_their_probabilities() -> None:
    _, n, depth, kind, only = prior_densities(of(SPACE))
    assert depth.density.tolist() == pytest.approx([0.1, 0.5, 0.2, 0.2])
    assert depth.position.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert depth.mode == pytest.approx(1 / 3)
    assert kind.density.tolist() == pytest.approx([0.25, 0.75]) and kind.mode == 1
    assert n.flat and n.density.tolist() == pytest.approx([1.0] * len(n.density))
    assert np.isnan(only.mode), "the mode has the kind b, in which it is inactive"


def test_positions_are_those_of_the_columns() -> None:
    study = pb.Study(SPACE, method="random+prior")
    study.add({**study.prior.mode}, 0.5)
    data = study_data(study)
    for column, density in zip(config_columns(data).parameters, prior_densities(data), strict=True):
        assert column.name == density.name
        assert column.unit[0] == pytest.approx(density.mode, nan_ok=True)


def test_a_prior_that_was_changed_is_the_last_one() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1, prior=0.2)), method="random+prior")
    study.set_prior({"x": 0.7})
    [x] = prior_densities(study_data(study))
    assert x.mode == pytest.approx(0.7)


class Squares:
    """A prior of the user's own, in which y is as x: the square of a uniform number."""

    mode = pb.Config(x=0.0, y="b")

    def sample(self, rng: pb.samplers.Generator) -> np.ndarray:
        u = rng.random() ** 2
        return np.array([u, float(u > 0.25)])

    def logpdf(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows))

    def around(self, config: object) -> "Squares":
        return self


def test_a_prior_of_ones_own_is_counted_from_draws() -> None:
    space = pb.Space(x=pb.Float(0, 1), y=pb.Categorical(["a", "b"]))
    x, y = prior_densities(of(space, Squares()))
    assert x.sampled and y.sampled
    below = x.density[x.position < 0.25].sum() / x.density.sum()
    assert below == pytest.approx(0.5, abs=0.05)  # half of the squares are below a quarter
    assert y.density.tolist() == pytest.approx([0.5, 0.5], abs=0.05) and y.mode == 1
    again = prior_densities(of(space, Squares()))
    assert np.array_equal(again[0].density, x.density)
