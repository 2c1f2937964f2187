"""What the charts ask for besides the analyses of one study: the plan, and comparisons."""

from pathlib import Path

import pytest
from clients import dashboard, study_id
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb
from priorband.dashboard.study_plan import study_plan
from priorband.study_analysis import compare_incumbents, study_data


def test_the_plan_is_known_with_a_budget_and_starts_with_the_first_attempt(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "one", SPACE, EPOCHS, "hyperband") as study:
        tell_some(study, 4)
        assert study_plan(study_data(study), study) == {"known": False}
        study.limit(pb.Budget(trainings=3))
        data = study_data(study)
        plan = study_plan(data, study)
    assert plan["known"] and plan["exact"]
    assert plan["start"][0] == data.attempts.start.min()
    assert plan["worker"] == [0] * len(plan["trial"])
    units = (plan["end"][0] - plan["start"][0]) / plan["seconds_per_unit"]
    assert units == pytest.approx(data.trials.fidelity[0])
    expected = pb.plan(EPOCHS, "hyperband", 3, 1)
    assert len(plan["trial"]) == len(expected.jobs)


def test_studies_are_compared_and_unknown_ones_refused(tmp_path: Path) -> None:
    for name, count in (("one", 12), ("two", 20)):
        with pb.open_study(tmp_path / name, SPACE, EPOCHS) as study:
            tell_some(study, count)
    with dashboard(tmp_path) as client:
        ids = [study_id(client, name) for name in ("two", "one")]
        found = client.get("/api/compare", params={"studies": ",".join(ids)}).json()
        assert client.get("/api/compare", params={"studies": "other"}).status_code == 404
        assert client.get("/api/compare").status_code == 404
    data = []
    for name in ("two", "one"):
        with pb.open_study(tmp_path / name, read_only=True) as study:
            data.append(study_data(study))
    expected = compare_incumbents(data)
    assert found["names"] == ["two", "one"]
    assert found["spent"] == expected.spent.tolist()
    assert found["last_spent"] == expected.last_spent.tolist()
