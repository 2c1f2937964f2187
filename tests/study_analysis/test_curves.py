"""Learning curves as columns are those of the study, joined along promotions."""

from collections.abc import Iterator

import numpy as np
import pytest
from analysed_studies import busy, in_memory

import priorband as pb
from priorband.errors import ArgumentError
from priorband.results.learning_curves import Point, joined_curves
from priorband.study import BaseStudy
from priorband.study_analysis import learning_curves, study_data, study_points
from priorband.study_analysis.curves import CurveColumns


def points_of(study: BaseStudy) -> dict[int, list[tuple[float, float]]]:
    """The points of each curve by root, from the study's own curves."""
    history, found = study.state.history, dict[int, list[tuple[float, float]]]()
    for number, curve in study.curves().items():
        if curve.points:
            root = history.trial(number).root
            found[root] = [(p.step, p.value) for p in curve if p.value is not None]
    return found


def by_root(found: CurveColumns) -> dict[int, list[tuple[float, float]]]:
    curves = dict[int, list[tuple[float, float]]]()
    for root, step, value in zip(found.root, found.step, found.value, strict=True):
        curves.setdefault(int(root), []).append((float(step), float(value)))
    return curves


@pytest.mark.parametrize("maximize", [False, True])
def test_without_reports_the_results_of_the_rungs_are_the_points(maximize: bool) -> None:
    study = busy(in_memory(maximize=maximize))
    found = learning_curves(study_data(study))
    assert by_root(found) == points_of(study)
    assert (found.curves, found.points) == (len(by_root(found)), len(found.step))


def test_reported_points_are_joined_as_the_study_joins_them() -> None:
    study = busy(in_memory())
    history = study.state.history

    def reported(number: int) -> Iterator[Point]:
        trial = history.trial(number)
        start = 0 if trial.parent is None else int(history.trial(trial.parent).fidelity)
        for step in range(start + number % 2, int(trial.fidelity) + 1):
            yield Point(step, step + number / 1000)

    found = learning_curves(study_data(study), reported)
    joined = joined_curves(history, False, reported)
    for root, points in by_root(found).items():
        last = max(t.id for t in history.trials if t.root == root and len([*reported(t.id)]) > 0)
        assert points == [(p.step, p.value) for p in joined[last]]
    assert np.all(np.diff(found.root) >= 0)


def test_a_later_trial_in_the_place_of_a_failed_one_replaces_its_points() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), pb.Fidelity("epochs", 1, 9), "sh")
    first = study.ask()
    study.fail(first)
    study.retry([first.id])
    again = study.ask()
    study.tell(again, 0.5)
    found = learning_curves(study_data(study), lambda n: [Point(0.5, float(n))], roots=[again.id])
    assert (found.trial.tolist(), found.step.tolist()) == ([1, 1], [0.5, 1.0])


def test_thinned_curves_keep_their_ends_and_the_best() -> None:
    study = busy(in_memory(), 120)
    data = study_data(study)

    def reported(number: int) -> Iterator[Point]:
        return (Point(k / 10, 0.0) for k in range(1, 10 * int(data.trials.fidelity[number])))

    whole = learning_curves(data, reported)
    for most in (2, 3, 7, 50, 200, 500, len(whole.step) - 1):
        thin = learning_curves(data, reported, most_points=most)
        assert len(thin.step) <= most
        assert (thin.curves, thin.points) == (whole.curves, whole.points)
        whole_curves, thin_curves = by_root(whole), by_root(thin)
        for root, points in thin_curves.items():
            assert points[-1] == whole_curves[root][-1]
            assert len(points) == 1 or points[0] == whole_curves[root][0]
        best = study.best_in_full
        assert best is not None and best.trial.root in thin_curves


def test_a_study_in_memory_has_no_reports_and_none_is_allowed_less_than_a_point() -> None:
    study = in_memory()
    assert [*study_points(study)(0)] == []
    assert len(learning_curves(study_data(study), most_points=5).step) == 0
    with pytest.raises(ArgumentError, match="most_points"):
        learning_curves(study_data(study), most_points=0)
