"""`priorband plot` writes the figures of a study, or says what is wrong and writes nothing."""

import sys
from pathlib import Path
from typing import final

import pytest
from commands import run_here
from servers import Server, fresh_url
from stored_studies import EPOCHS, SPACE, tell_some

import priorband as pb
from priorband.plots.drawing.theme import DARK
from priorband.plots.names import NAMES
from priorband.values import frozen

Fixtures = tuple[pytest.MonkeyPatch, pytest.CaptureFixture[str]]


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("plot") / "study"
    with pb.open_study(place, SPACE, EPOCHS) as study:
        tell_some(study, 30)
    return place


@pytest.fixture
def fixtures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fixtures:
    return monkeypatch, capsys


def test_one_plot_is_one_file(where: Path, tmp_path: Path, fixtures: Fixtures) -> None:
    path = tmp_path / "a.svg"
    done = run_here(("plot", "rung-flow", where, "-o", path), *fixtures)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"Wrote {path}\n", "")
    assert "study: from rung to rung, by origin" in path.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["a.svg"]


def test_a_dark_one_has_a_dark_background(where: Path, tmp_path: Path, fixtures: Fixtures) -> None:
    for words, name in (((), "light.svg"), (("--dark",), "dark.svg")):
        words = ("plot", "incumbent", where, "-o", tmp_path / name, *words)
        assert run_here(words, *fixtures).returncode == 0
    assert DARK.background in (tmp_path / "dark.svg").read_text()
    assert DARK.background not in (tmp_path / "light.svg").read_text()


def test_all_plots_are_written_to_a_folder(where: Path, tmp_path: Path, fixtures: Fixtures) -> None:
    folder = tmp_path / "new" / "folder"
    done = run_here(("plot", "all", where, "-o", folder), *fixtures)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in folder.iterdir()} == {f"{name}.svg" for name in NAMES}
    assert all(path.read_text().startswith("<svg") for path in folder.iterdir())


def test_options_go_to_their_plot(where: Path, tmp_path: Path, fixtures: Fixtures) -> None:
    path = tmp_path / "a.svg"
    for words, text in (
        (("incumbent", where, "--over", "time"), "since the study was created"),
        (("ancestry", where, "--trial", 4), "where trial 4 comes from"),
    ):
        assert run_here(("plot", *words, "-o", path), *fixtures).returncode == 0
        assert text in path.read_text()


def test_several_studies_are_compared(where: Path, tmp_path: Path, fixtures: Fixtures) -> None:
    with pb.open_study(tmp_path / "another", SPACE, EPOCHS, "hyperband") as study:
        tell_some(study, 9)
    words = ("plot", "compare", where, tmp_path / "another", "-o", tmp_path / "a.svg")
    assert run_here(words, *fixtures).returncode == 0
    text = (tmp_path / "a.svg").read_text()
    assert ">study<" in text and ">another<" in text


def test_a_study_in_postgres(postgres: Server, tmp_path: Path, fixtures: Fixtures) -> None:
    url = fresh_url(postgres)
    with pb.open_study(url, SPACE, EPOCHS) as study:
        tell_some(study, 5)
    done = run_here(("plot", "curves", url, "-o", tmp_path / "a.svg"), *fixtures)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("incumbant", "S", "-o", "a.svg"), "no plot 'incumbant'. Did you mean 'incumbent'?"),
        (("incumbent", "S", "-o", "a.gif"), "must end in .svg, .png or .pdf, got 'a.gif'"),
        (("incumbent", "S", "S", "-o", "a.svg"), "takes one study, got 2. `plot compare` draws"),
        (("curves", "S", "-o", "a.svg", "--over", "time"), "--over is for `plot incumbent`"),
        (("curves", "S", "-o", "a.svg", "--format", "png"), "--format is for `plot all`"),
        (("incumbent", "S"), "-o/--output is missing, as in -o FILE: the file"),
        (("incumbent", "S", "-o", "a.svg", "--drak"), "no option --drak. Did you mean --dark?"),
        (("incumbent", "nowhere", "-o", "a.svg"), "There is no study in"),
        (("ancestry", "S", "-o", "a.svg", "--trial", "99"), "`trial` 99 is not in this study"),
    ],
)
def test_mistakes_are_answered(
    words: tuple[str, ...], said: str, where: Path, tmp_path: Path, fixtures: Fixtures
) -> None:
    places = {"S": str(where), "a.svg": str(tmp_path / "a.svg"), "a.gif": str(tmp_path / "a.gif")}
    done = run_here(("plot", *(places.get(word, word) for word in words)), *fixtures)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_all_do_not_go_into_a_file(where: Path, tmp_path: Path, fixtures: Fixtures) -> None:
    (tmp_path / "file").write_text("before")
    done = run_here(("plot", "all", where, "-o", tmp_path / "file"), *fixtures)
    assert done.returncode == 1 and "`plot all` writes to a folder" in done.stderr
    assert (tmp_path / "file").read_text() == "before"


def test_without_matplotlib_the_extra_is_named(
    where: Path, tmp_path: Path, fixtures: Fixtures
) -> None:
    fixtures[0].setitem(sys.modules, "matplotlib", None)
    done = run_here(("plot", "incumbent", where, "-o", tmp_path / "a.svg"), *fixtures)
    assert done.returncode == 1
    assert "pip install 'priorband[plots]'" in done.stderr


@final
@frozen
class Mine:
    """A sampler of one's own."""

    def sample(self, state: pb.State, rung: int, rng: pb.samplers.Generator) -> pb.samplers.Draw:
        del rung
        row = state.space.uniform(1, rng)[0]
        return pb.samplers.Draw(state.space.config(row.tolist()), "mine")


def test_what_only_a_method_of_ones_own_knows_is_not_made_up(
    tmp_path: Path, fixtures: Fixtures
) -> None:
    method = pb.Optimizer(pb.optimizer("hyperband").scheduler, Mine())
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS, method) as study:
        tell_some(study, 10)
    words = (tmp_path / "study", "-o", tmp_path / "a.svg")
    done = run_here(("plot", "chances", *words), *fixtures)
    assert done.returncode == 1 and "`plot chances` needs the method" in done.stderr
    assert not (tmp_path / "a.svg").exists()
    done = run_here(("plot", "all", tmp_path / "study", "-o", tmp_path / "all"), *fixtures)
    assert "chances is left out" in done.stderr
    written = {path.stem for path in (tmp_path / "all").iterdir()}
    assert written == {*NAMES} - {"chances"}
    done = run_here(("plot", "incumbent", *words), *fixtures)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_help_names_every_plot(fixtures: Fixtures) -> None:
    done = run_here(("plot", "--help"), *fixtures)
    assert done.returncode == 0 and all(name in done.stdout for name in NAMES)
