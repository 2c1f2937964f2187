"""A study is read as of one moment, and again for what is new."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from analysed_studies import EPOCHS, SPACE, busy, in_memory

import priorband as pb
from priorband.storage.journal import Row
from priorband.study_analysis import ENDINGS, StudyData, StudyReader, study_data
from priorband.study_analysis.attempts import GrowingAttempts
from priorband.study_analysis.trial_columns import STATUSES, GrowingTrials
from priorband.trial import IMPORTED
from priorband.values import field_names


def plain(data: StudyData) -> dict[str, Any]:
    """The columns of a study as lists, NaN as None."""
    return {
        f"{part}.{name}": _listed(getattr(getattr(data, part), name))
        for part in ("trials", "times", "attempts")
        for name in field_names(getattr(data, part))
    }


def _listed(column: Any) -> Any:
    if isinstance(column, np.ndarray):
        return [None if x != x else x for x in column.tolist()]
    return [_listed(each) for each in column.columns] if hasattr(column, "columns") else column


def test_columns_are_those_of_the_history() -> None:
    study = busy(in_memory(maximize=True))
    data, history = study_data(study), study.state.history
    trials = data.trials
    for trial in history.trials:
        ended, number = history.outcome(trial.id), trial.id
        assert trials.parent[number] == (-1 if trial.parent is None else trial.parent)
        assert trials.root[number] == trial.root
        assert trials.origins[trials.origin[number]] == trial.origin
        assert trials.fidelity[number] == trial.fidelity
        assert trials.bracket[number] == (trial.slot.bracket if trial.slot else -1)
        assert trials.retry_of[number] == (history.retry_of(number) or -1)
        assert trials.promoted[number] == history.promoted(number)
        assert trials.units[number] == (0 if trial.origin == IMPORTED else history.cost(trial))
        [config] = trials.configs.configs([int(trials.config_row[number])])
        assert config == trial.config
        status = "running" if ended is None else "failed" if ended.failed else "succeeded"
        assert STATUSES[trials.status[number]] == status
        if ended is not None:
            assert trials.loss[number] == ended.loss
            shown = data.values[number]
            assert math.isnan(shown) if ended.failed else shown == -ended.loss
    assert trials.order.tolist() == [ended.trial.id for ended in history.observations]
    assert np.count_nonzero(trials.drawn) == history.drawn
    assert {int(rung) for rung in trials.rung} == {0, 1, 2, 3}


def test_trials_with_the_same_configuration_share_the_first_of_them() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), EPOCHS, "sh")
    study.add({"x": 0.5}, 0.2, 1)
    study.add({"x": 0.25}, 0.3, 1)
    study.add({"x": 0.5}, 0.1, 3)
    assert study_data(study).trials.same.tolist() == [0, 1, 0]


def test_each_look_reads_what_is_new_and_leaves_earlier_ones(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        reader = StudyReader(study)
        seen: list[tuple[StudyData, dict[str, Any]]] = []

        def look() -> None:
            data = reader.refresh()
            seen.append((data, plain(data)))

        busy(study, meanwhile=look)
        look()
        assert len(seen) > 40
        assert [plain(data) for data, _ in seen] == [as_read for _, as_read in seen]
        assert plain(study_data(study)) == seen[-1][1]
        counts = [len(data.trials) for data, _ in seen]
        assert counts == sorted(counts) and counts[0] < counts[-1]


def test_a_stored_study_has_the_columns_of_the_same_in_memory(tmp_path: Path) -> None:
    stored = pb.open_study(tmp_path / "s", SPACE, EPOCHS, seed=0)
    with stored as study:
        busy(study)
        memory = in_memory()
        memory.follow(study.state.history.events)
        one, other = plain(study_data(study)), plain(study_data(memory))
        same = [name for name in one if name.startswith("trials.")]
        assert [one[name] for name in same] == [other[name] for name in same]


def test_another_process_reads_the_same_from_a_snapshot_and_read_only(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        busy(study, 20)
        written = plain(study_data(study))
    with pb.open_study(tmp_path / "s", read_only=True) as study:
        data = study_data(study)
        assert plain(data) == written
        assert (data.name, data.budget) == ("s", pb.Budget())
        assert data.created > 1e9 and data.elapsed >= data.times.ended[data.trials.order[-1]]


def test_times_and_costs_are_those_of_the_trials(tmp_path: Path) -> None:
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        busy(study)
        data = study_data(study)
        for record in study.trials():
            assert record.asked is not None
            asked = record.asked.timestamp() - data.created
            assert data.times.asked[record.id] == pytest.approx(asked, abs=1e-5)
            cost = data.times.cost[record.id]
            assert math.isnan(cost) if record.cost is None else cost == record.cost
            if record.seconds is not None and record.origin != IMPORTED:
                assert data.times.seconds[record.id] == pytest.approx(record.seconds, abs=1e-6)
            assert math.isnan(data.times.ended[record.id]) == (record.ended is None)


def test_costs_of_a_study_in_memory_are_found_once_told() -> None:
    study = pb.Study(pb.Space(x=pb.Float(0, 1)), method="random")
    reader = StudyReader(study)
    first, second = study.ask(), study.ask()
    study.tell(second, 0.5, cost=3)
    assert reader.refresh().times.cost.tolist()[1] == 3
    study.tell(first, 0.5, cost=0)
    assert reader.refresh().times.cost.tolist() == [0, 3]


def test_attempts_by_hand() -> None:
    """Two workers: one is lost and its late result counts, one gives a trial back and fails."""
    imported = np.array([False, False, True])
    rows = [
        ("created", None, "boss-1-aaaaaa", 100, "{}"),
        ("asked", 0, "gpu-1-7-aaaaaa", 101, "{}"),
        ("asked", 1, "gpu-2-8-bbbbbb", 102, "{}"),
        ("asked", 2, "gpu-2-8-bbbbbb", 103, "{}"),
        ("told", 2, "gpu-2-8-bbbbbb", 103, '{"attempt":0,"loss":0.5,"cost":2.0}'),
        ("returned", 1, "x", 105, '{"attempt":1,"kind":"memory","reason":""}'),
        ("returned", 0, "x", 130, '{"attempt":1,"kind":"lost","reason":"","seen":110.0}'),
        ("adopted", 0, "gpu-2-8-bbbbbb", 131, '{"attempt":2,"claim":"","start":0}'),
        ("adopted", 1, "gpu-1-9-cccccc", 132, '{"attempt":2,"claim":"","start":0}'),
        ("told", 0, "x", 140, '{"attempt":1,"loss":1.0,"startup":2.5,"seconds":35.0}'),
        ("failed", 1, "x", 150, '{"attempt":2,"kind":"raised","reason":"no"}'),
    ]
    growing = GrowingAttempts(100.0)
    for number, (kind, trial, worker, at, body) in enumerate(rows, 1):
        growing.read(Row(number, kind, trial, worker, at, body, 0), imported)
    attempts, times = growing.columns(), growing.times(3)
    found = zip(
        attempts.trial.tolist(),
        attempts.attempt.tolist(),
        [attempts.hosts[w] for w in attempts.worker],
        attempts.start.tolist(),
        attempts.end.tolist(),
        [ENDINGS[code] for code in attempts.ending],
        strict=True,
    )
    assert [*found] == [
        (0, 1, "gpu-1", 1, 40, "succeeded"),
        (1, 1, "gpu-2", 2, 5, "returned"),
        (0, 2, "gpu-2", 31, 40, "overtaken"),
        (1, 2, "gpu-1", 32, 50, "failed"),
    ]
    assert attempts.startup.tolist()[0] == 2.5
    assert times.seconds.tolist() == [35, 18, pytest.approx(math.nan, nan_ok=True)]
    assert times.cost.tolist()[2] == 2 and times.ended.tolist() == [40, 50, 3]


def test_a_history_that_became_shorter_is_read_again() -> None:
    study = in_memory()
    growing = GrowingTrials(SPACE, study.state.ladder.fidelities)
    for count in range(5):
        study.tell(study.ask(), count)
    short = study.state.history
    for count in range(5):
        study.tell(study.ask(), 9 - count)
    assert growing.read(study.state.history).loss.tolist() == [*range(5), 9, 8, 7, 6, 5]
    assert growing.read(short).loss.tolist() == [*range(5)]
    assert growing.read(study.state.history).order.tolist() == [*range(10)]
