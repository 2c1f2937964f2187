"""Opening stored runs."""

from pathlib import Path

import pytest
from real_data import data_folder, paper_folder

from priorband import open_study
from priorband.benchmarks import Hartmann
from priorband.cli import main
from priorband.errors import DataError
from priorband.experiments import runner
from priorband.experiments.cases import Case
from priorband.experiments.open_runs import (
    losses_match,
    matching_records,
    recorded_studies,
    write_study,
)
from priorband.experiments.result_store import ResultStore
from priorband.experiments.run_record import RunRecord
from priorband.experiments.runner import Folders, run_cases

CASES = [
    Case("paper", "hartmann3-good", "bad", "priorband", 1, 0, 4.0),
    Case("paper", "hartmann3-good", "bad", "priorband", 4, 0, 1.0),
    Case("paper", "hartmann3-good", "none", "hyperband", 1, 1, 3.0),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    folders = Folders(tmp_path_factory.mktemp("results"))
    run_cases(CASES, folders, 1)
    return folders


def test_every_run_replays(folders: Folders) -> None:
    found = list(recorded_studies(folders, matching_records(ResultStore(folders.results), "*")))
    assert sorted(record.case.key for record, _, _ in found) == sorted(c.key for c in CASES)
    assert all(study.replay().exact and losses_match(*one) for one in found for study in one[1:2])


def test_changed_losses_of_a_benchmark_are_noticed(folders: Folders) -> None:
    [(record, study, _)] = recorded_studies(
        folders, matching_records(ResultStore(folders.results), CASES[0].name)
    )
    assert losses_match(record, study, Hartmann(3, "good", 0))
    assert not losses_match(record, study, Hartmann(3, "good", 1))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_run_becomes_a_study_that_all_tools_open(
    folders: Folders, case: Case, tmp_path: Path
) -> None:
    [(_, study, _)] = recorded_studies(
        folders, matching_records(ResultStore(folders.results), case.name)
    )
    write_study(study, tmp_path / "study")
    with open_study(tmp_path / "study", read_only=True) as durable:
        assert durable.replay().exact
        assert durable.best == study.best
        assert len(durable.state.history) == len(study.state.history)
    with pytest.raises(DataError, match="There is already a study in"):
        write_study(study, tmp_path / "study")


def test_an_unknown_run_is_refused_with_an_example_of_a_name(folders: Folders) -> None:
    with pytest.raises(DataError, match="A name looks like paper/hartmann3-good/"):
        matching_records(ResultStore(folders.results), "nothing")


def test_the_command_line_replays_and_opens(
    folders: Folders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--results", str(folders.results)]
    assert main(["bench", "replay", *where]) == 0
    assert "3 runs: all decisions and losses are the same as recorded." in capsys.readouterr().out
    assert main(["bench", "open", "paper/*", str(tmp_path / "two"), *where]) == 1
    assert "3 runs match 'paper/*'. Name a single run." in capsys.readouterr().err
    assert main(["bench", "open", CASES[0].name, str(tmp_path / "one"), *where]) == 0
    assert main(["status", str(tmp_path / "one")]) == 0
    assert "priorband, seed 0" in capsys.readouterr().out


def test_the_status_of_a_study_with_a_custom_prior_has_its_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from priorband.benchmarks.published import Unequal
    from priorband.space.prior import Independent

    space = Hartmann(3).space
    belief = Independent(space, [Unequal(1, 5, False, 0.5)] * 3, space.decode([0.5] * 3))
    place = tmp_path / "own"
    open_study(place, space=space, fidelity=Hartmann(3).fidelity, prior=belief).close()
    assert main(["status", str(place)]) == 0
    assert "3 to 100, priorband, seed 0" in capsys.readouterr().out


@pytest.mark.parametrize(("factor", "hold"), [(1 + 1e-6, True), (1 + 1e-4, False)])
def test_losses_match_up_to_rounding(folders: Folders, factor: float, hold: bool) -> None:
    [(record, study, benchmark)] = recorded_studies(
        folders, matching_records(ResultStore(folders.results), CASES[0].name)
    )
    scaled = record.columns | {"loss": factor * record.columns["loss"]}
    assert losses_match(RunRecord(record.case, scaled, record.values), study, benchmark) == hold


def test_runs_of_other_code_are_not_opened(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = matching_records(ResultStore(folders.results), "*")
    monkeypatch.setattr(runner, "CODE", "another")
    with pytest.raises(DataError, match="made with other code"):
        list(recorded_studies(folders, found))


def test_a_networks_losses_match_although_batches_round_differently(tmp_path: Path) -> None:
    folders = Folders(tmp_path, data_folder(), paper_folder())
    cases = [
        Case("published", "lcbench-126026", "bad", "priorband", 1, seed, 12.0) for seed in (0, 8)
    ]
    run_cases(cases, folders)
    for one in recorded_studies(folders, matching_records(ResultStore(tmp_path), "*")):
        assert losses_match(*one)
