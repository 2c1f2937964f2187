"""`priorband prior set`: change the prior of a study from the command line."""

import json
from pathlib import Path

import pytest
from commands import no_control_codes, priorband

import priorband as pb
from priorband.cli.entry_point import main
from priorband.space.prior import Independent

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3),
        "layers": pb.Integer(1, 8),
        "optimizer": pb.Categorical(["sgd", "adam"], prior="adam"),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)
STUDY = """
command  = ["{{python}}", "-c", "{{lr}}", "{{layers}}", "{{optimizer}}", "{{epochs}}"]
study    = "s"
fidelity = {{ name = "epochs", min = 1, max = 9 }}

[space]
lr        = {{ float = [1e-5, 1e-1], log = true, prior = {lr} }}
layers    = {{ integer = [1, 8] }}
optimizer = {{ choices = ["sgd", "adam"], prior = "adam" }}
"""


@pytest.fixture
def where(tmp_path: Path) -> str:
    """A study with three trials."""
    with pb.open_study(tmp_path / "s", SPACE, EPOCHS) as study:
        study.limit(9)
        for trial in study.ask(3):
            study.tell(trial, 0.5)
    return str(tmp_path / "s")


def prior_of(where: str) -> pb.Prior:
    with pb.open_study(where, read_only=True) as study:
        assert study.replay().exact
        return study.prior


def test_named_parameters_are_changed_and_others_kept(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["lr={ normal = 1e-2, sigma = 0.1 }", "optimizer=sgd", "--confidence", "high"]
    assert main(["prior", "set", where, *words]) == 0
    assert capsys.readouterr().out == (
        f"The prior of {where} is changed, for trials from 3 on.\n"
        "  lr: 0.01 (width 0.1), was 0.001 (width 0.25)\n"
        "  layers: no prior\n"
        "  optimizer: 'sgd' (probability 0.86), was 'adam' (probability 0.8)\n"
    )
    beliefs = {"lr": pb.Normal(1e-2, sigma=0.1), "optimizer": pb.Weights("sgd", "high")}
    assert prior_of(where) == pb.prior(SPACE, beliefs)
    assert main(["prior", "set", where, "lr={ normal = 1e-2, sigma = 0.1 }"]) == 0
    assert capsys.readouterr().out == "The study has this prior already.\n"
    assert main(["prior", "set", where, "lr={ uniform = true }", "--queue-mode"]) == 0
    assert capsys.readouterr().out.endswith("Its mode is queued, and is tried next.\n")
    with pb.open_study(where) as study:
        assert study.ask().config["optimizer"] == "sgd"


@pytest.mark.parametrize(
    "words",
    [
        ["--confidence", "high", "lr=1e-2"],
        ["--confidence=high", "lr=1e-2", "--queue-mode"],
        ["lr=1e-2", "--queue-mode", "layers=2", "--confidence", "high"],
        ["--confidence", "high", "--", "lr=1e-2"],
    ],
)
def test_options_stand_anywhere(words: list[str], where: str) -> None:
    assert main(["prior", "set", where, *words]) == 0
    lr = pb.prior(SPACE, {"lr": 1e-2}, confidence="high").densities[0]
    changed = prior_of(where)
    assert isinstance(changed, Independent) and changed.densities[0] == lr
    assert changed.mode["layers"] == (2 if "layers=2" in words else SPACE.prior.mode["layers"])


def test_a_parameter_that_is_not_used_with_the_mode_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    momentum = pb.Float(0, 1, when={"optimizer": "sgd"})
    space = pb.Space({"optimizer": SPACE.searched["optimizer"], "momentum": momentum})
    pb.open_study(tmp_path / "s", space, EPOCHS).close()
    for value, before in (("0.5", "no prior"), ("0.75", "0.5 (width 0.25)")):
        assert main(["prior", "set", str(tmp_path / "s"), f"momentum={value}"]) == 0
        said = capsys.readouterr().out
        assert f"  momentum: {value} (width 0.25), was {before}\n" in said


def test_show_has_the_values_of_the_prior_that_a_trial_was_chosen_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    momentum = pb.Float(0, 1, prior=0.9, when={"optimizer": "sgd"})
    space = pb.Space({**SPACE.searched, "momentum": momentum})
    with pb.open_study(tmp_path / "s", space, EPOCHS) as study:
        study.tell(study.ask(), 0.5)
        study.set_prior({"lr": 1e-2, "optimizer": "adam", "momentum": 0.25})
        study.tell(study.ask(), 0.5)
    for trial, lr, likely in ((0, 1e-3, 0.9), (1, 1e-2, 0.25)):
        assert main(["show", str(tmp_path / "s"), str(trial), "--json"]) == 0
        prior = {"lr": lr, "optimizer": "adam", "momentum": likely}
        assert json.loads(capsys.readouterr().out)["prior"] == pytest.approx(prior), "not layers"


def test_a_file_replaces_the_whole_prior(where: str, tmp_path: Path) -> None:
    (tmp_path / "prior.toml").write_text("[prior]\nlayers = { beta = [2, 5] }\n")
    assert main(["prior", "set", where, "--file", str(tmp_path / "prior.toml")]) == 0
    assert prior_of(where) == pb.prior(SPACE, {"layers": pb.Beta(2, 5)})


def test_a_study_file_is_edited_applied_and_run(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(lr="1e-3"))
    with pb.open_study(where) as study:
        study.limit(pb.Budget(trials=3))
    file.write_text(STUDY.format(lr="3e-2"))
    assert main(["run", str(file), "--plain"]) == 1
    said = capsys.readouterr().err
    assert f"run `priorband prior set {file} --file {file}`" in " ".join(said.split())
    assert main(["prior", "set", str(file), "--file", str(file)]) == 0
    assert "lr: 0.03 (width 0.25), was 0.001 (width 0.25)" in capsys.readouterr().out
    for lr in ("3e-2", "1e-3"):
        file.write_text(STUDY.format(lr=lr))
        assert main(["run", str(file), "--plain"]) == 0, "the present prior, and the first one"
    file.write_text(STUDY.format(lr="1e-3") + "[prior]\nlayers = 4\n")
    assert main(["prior", "set", str(file), "--file", str(file)]) == 0
    assert prior_of(where) == pb.prior(SPACE, {"layers": 4})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "takes either NAME=VALUE"),
        (["lr=1e-3", "--file", "prior.toml"], "takes either NAME=VALUE"),
        (["lrr=1e-3"], "names `lrr`, which is not searched. Did you mean `lr`?"),
        (["lr=7"], "`prior` must be a number in [1e-05, 0.1], got 7"),
        (["lr=much"], "got 'much'"),
        (["optimizer=adamw"], "must be one of 'sgd', 'adam', got 'adamw'"),
        (["lr={ normal = 1e-3"], "got '{ normal = 1e-3'"),
        (["lr={ norm = 1e-3 }"], "has no kind of belief. Did you mean `normal`?"),
        (["lr=1e-3\nlayers = 3"], "got '1e-3\\nlayers = 3'"),
        (["--file", "missing.toml"], "cannot be read"),
    ],
)
def test_mistakes_are_told_and_change_nothing(
    words: list[str], said: str, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prior", "set", where, *words]) == 1
    err = capsys.readouterr().err
    assert no_control_codes(err) and said in " ".join(err.split())
    assert prior_of(where) == SPACE.prior


@pytest.mark.parametrize("word", ["lr", "=3", "lr="])
def test_what_is_no_name_and_value_is_wrong_usage(
    word: str, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["prior", "set", where, word])
    assert "must be a name and a value, such as lr=1e-3" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_file_without_the_section_is_told(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prior.toml").write_text("lr = 1e-3\n")
    assert main(["prior", "set", where, "--file", str(tmp_path / "prior.toml")]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "has no key `lr`. Its keys are `prior`" in said and "no section [prior]" in said


def test_status_and_show_say_that_it_was_changed(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", where]) == 0
    assert "\nprior " not in capsys.readouterr().out
    assert main(["show", where, "2"]) == 0
    assert "\nprior " not in capsys.readouterr().out
    assert main(["prior", "set", where, "lr=1e-2"]) == 0
    with pb.open_study(where) as study:
        study.tell(study.ask(), 0.5)
    assert main(["prior", "set", where, "lr=2e-2"]) == 0
    capsys.readouterr()
    assert main(["status", where]) == 0
    assert "\nprior    changed 2 times, last before trial 4 (20" in capsys.readouterr().out
    assert main(["status", where, "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["prior_changes"]
    assert [change["before_trial"] for change in changes] == [3, 4]
    for number, line, likely in (
        (2, "prior       1 of 3, changed before trial 3", 1e-3),
        (3, "prior       2 of 3, set before trial 3, changed before trial 4", 1e-2),
    ):
        assert main(["show", where, str(number)]) == 0
        assert f"\n{line}\n" in capsys.readouterr().out
        assert main(["show", where, str(number), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["prior"]["lr"], shown["prior_number"]) == (likely, number - 2)


def test_a_prior_of_a_users_own_is_replaced_as_a_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command cannot open such a study: it says that Python can."""

    class Own:
        mode = SPACE.prior.mode
        sample, logpdf, around = SPACE.prior.sample, SPACE.prior.logpdf, SPACE.prior.around

    with pb.open_study(tmp_path / "own", SPACE, EPOCHS, prior=Own()):
        pass
    assert main(["prior", "set", str(tmp_path / "own"), "lr=1e-2"]) == 1
    assert "open it in Python" in " ".join(capsys.readouterr().err.split())


def test_the_group_lists_its_commands() -> None:
    done = priorband("prior", "--help")
    assert done.returncode == 0 and "set" in done.stdout
