"""`priorband run` and `worker`: starting, resuming, joining, and what is wrong with words."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from commands import BASIC, no_control_codes, priorband, run_here
from servers import Server, fresh_url

import priorband as pb


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small study that has come to its end, for all tests of this file."""
    where = tmp_path_factory.mktemp("cli") / "runs" / "small"
    done = priorband("run", where, *BASIC, "--budget", 2, "--same-process", "--seed", 3)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and no_control_codes(done.stdout)
    assert "The budget of 2 trainings is spent." in done.stdout
    assert "Best: " in done.stdout
    return where


@pytest.fixture
def finished(finished_once: Path, tmp_path: Path) -> Path:
    """A copy of that study, which a test may change."""
    return Path(shutil.copytree(finished_once, tmp_path / "small"))


def test_a_study_is_made_of_what_the_command_says(finished: Path) -> None:
    with pb.open_study(finished, read_only=True) as study:
        assert study.problem.seed == 3 and study.budget.limits == {"trainings": 2}
        assert study.problem.fidelity == pb.Fidelity("epochs", 1, 9)
        assert study.problem.space.names == ("x",)
        assert study.replay().exact


def test_the_same_again_says_that_all_is_done_and_more_budget_goes_on(finished: Path) -> None:
    again = priorband("run", finished, *BASIC, "--same-process")
    assert again.returncode == 0 and "is spent" in again.stdout
    with pb.open_study(finished, read_only=True) as study:
        trials = len(study.state.history)
    assert f"Resuming: {trials} trials, 2" in again.stdout
    assert " of 2 trainings spent\n" in again.stdout
    more = priorband("worker", finished, "--objective", "objectives:value", "--leave", "--quiet")
    assert (more.returncode, more.stdout, more.stderr) == (0, "", "")
    with pb.open_study(finished, read_only=True) as study:
        before = len(study.state.history)
    more = priorband("run", finished, *BASIC, "--budget", 3, "--same-process", "--json")
    assert more.returncode == 0
    events = [json.loads(line) for line in more.stdout.splitlines()]
    assert events[-1]["event"] == "finish" and events[-1]["trials"]["ended"] > before


def test_an_objective_in_a_file_of_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "beside.py").write_text(
        "import priorband as pb\nSPACE = pb.Space(x=pb.Float(0, 1))\n"
    )
    (folder / "my-train.py").write_text(
        "from beside import SPACE\ndef train(trial):\n    return trial.config['x']\n"
    )
    words = ("--objective", "my project/my-train.py:train", "--trials", 2, "--plain")
    done = priorband("run", tmp_path / "s", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Resuming" not in done.stdout
    with pb.open_study(tmp_path / "s", read_only=True) as study:
        assert study.state.history.finished == 2


def test_several_workers_in_processes_of_their_own(tmp_path: Path) -> None:
    words = ("--objective", "objectives:counted", "--fidelity", "epochs:1:9", "--workers", 2)
    limits = ("--trials", 5, "--hours", 1, "--retries", "raised=2", "--keep", "all")
    done = priorband("run", tmp_path / "s", *words, *limits, "--method", "asha", "--plain")
    assert done.returncode == 0, done.stderr
    with pb.open_study(tmp_path / "s", read_only=True) as study:
        assert study.spending().trials == 5 and study.ledger.failures == {}
        assert study.problem.optimizer == pb.optimizer("asha")


def test_modules_of_the_current_folder_are_found_by_trials_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import priorband as pb\nimport beside\n"
        "space = pb.Space({'x': pb.Float(0, 1)})\n"
        "fidelity = pb.Fidelity('share', 0.1, 1.0)\n"
        "def accuracy(trial):\n    return beside.value(trial.config['x'])\n"
    )
    (tmp_path / "beside.py").write_text("def value(x):\n    return 1 - x\n")
    words = ("run", "s", "--objective", "mine:accuracy", "--trials", 3, "--maximize")
    done = priorband(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with pb.open_study(tmp_path / "s", read_only=True) as study:
        assert study.maximize and study.problem.fidelity.name == "share"
        assert study.best is not None and -1 <= study.best.loss <= 0
    (tmp_path / "mine.py").write_text(
        (tmp_path / "mine.py")
        .read_text()
        .replace("(0, 1)", "(0, 2)")
        .replace("0.1, 1.0", "0.1, 2.0")
    )
    note = priorband("run", "s", "--objective", "mine:accuracy", cwd=tmp_path)
    assert note.returncode == 0
    assert "mine has changed since:\n  - `x`: high is 1.0 in the study, 2.0 here" in note.stderr
    assert "\n  - fidelity `share`: high is 1.0 in the study, 2.0 here" in note.stderr
    other = priorband(*words, "--space", "mine:space", cwd=tmp_path)
    assert other.returncode == 1
    assert "`x`: high is 1.0 in the study, 2.0 here" in other.stderr


OWN = """
import priorband as pb
from numpy.random import Generator
SPACE, FIDELITY = pb.Space({"x": pb.Float(0, 1)}), pb.Fidelity("epochs", 1, 9)
class Mine:
    def sample(self, state: pb.State, rung: int, rng: Generator) -> pb.samplers.Draw:
        return pb.samplers.FromUniform().sample(state, rung, rng)
METHOD = pb.Optimizer(pb.schedulers.ASHA(), Mine())
def f(trial):
    return trial.config["x"]
"""


def test_a_method_of_ones_own_is_named_and_what_it_did_can_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    words = ("s", "--objective", "own:f", "--same-process")
    for command in (("run", "--trials", 3), ("worker",)):
        done = priorband(*command, *words, "--method", "own:METHOD", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert priorband("run", *words, "--method", "own:SPACE", cwd=tmp_path).returncode == 1
    status = priorband("status", "s", cwd=tmp_path)
    assert status.returncode == 0 and "own.Mine" in status.stdout and "3 ended" in status.stdout
    assert json.loads(priorband("export", "s", "--json", cwd=tmp_path).stdout)[2]["trial"] == 2
    assert priorband("best", "s", cwd=tmp_path).returncode == 0
    replay = priorband("replay", "s", cwd=tmp_path)
    assert replay.returncode == 1 and "has custom parts" in replay.stderr


def test_a_study_in_a_database_keeps_its_password_to_itself(
    postgres: Server, tmp_path: Path
) -> None:
    where = fresh_url(postgres)
    words = ("--same-process", "--folder", tmp_path / "files")
    done = priorband("run", where, *BASIC, "--trials", 4, *words)
    assert done.returncode == 0, done.stderr
    more = priorband("worker", where, "--objective", "objectives:value", *words)
    assert more.returncode == 0, more.stderr
    said = done.stdout + done.stderr + more.stdout + more.stderr
    for command in ("status", "best", "replay", "export", "journal check"):
        looked = priorband(*command.split(), where)
        assert looked.returncode == 0, looked.stderr
        said += looked.stdout + looked.stderr
    assert postgres.password not in said and ":***@" in said


def test_an_objective_that_always_fails_ends_with_its_place(tmp_path: Path) -> None:
    words = ("--objective", "objectives:raises", "--fidelity", "epochs:1:9", "--budget", 9)
    done = priorband("run", tmp_path / "s", *words, "--same-process", "--plain")
    assert done.returncode == 3
    assert done.stderr == (
        "priorband: The first 3 trials all failed in the same way (raised ValueError in raises, "
        "line 55). The study is stopped, since none has succeeded.\n"
    )
    said = done.stdout.splitlines()[3:]  # after the plan
    assert "failed: trial 0, raised: ValueError: no such thing as" in said[0]
    assert said[1].startswith("    objectives.py, line 55, in raises: raise ValueError(f")
    assert said[2] == f"    log: {tmp_path}/s/trials/0/log-1.txt"
    assert said[3].startswith("    Fix the error and run the same again. `priorband retry")
    quiet = priorband("run", tmp_path / "q", *words, "--same-process", "--quiet")
    assert (quiet.returncode, quiet.stdout) == (3, "") and len(quiet.stderr.splitlines()) == 6
    assert quiet.stderr.startswith("priorband: The first 3 trials all failed in the same way")
    assert "objectives.py, line 55, in raises" in quiet.stderr


SPACES = {
    "good": '{"lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true, "prior": 0.001},'
    ' "n": {"type": "integer", "low": 1, "high": 5},'
    ' "o": {"type": "categorical", "choices": ["a", "b"], "prior": "a", "confidence": "high"},'
    ' "d": {"type": "float", "low": 0, "high": 1,'
    ' "prior": {"@": "Normal", "centre": 0.2, "sigma": 0.1}},'
    ' "c": {"type": "constant", "value": 10}, "k": {"type": "ordinal", "choices": [2, 4]}}',
    "list": "[1, 2]",
    "broken": '{"lr": ',
    "twice": '{"x": 1, "x": 2}',
    "untyped": '{"lr": {"low": 0, "high": 1}}',
    "unknown": '{"lr": {"type": "float", "low": 0, "high": 1, "step": 2}}',
    "wrong": '{"lr": {"type": "float", "low": 1, "high": 0}}',
    "belief": '{"lr": {"type": "float", "low": 0, "high": 1, "prior": {"@": "os.system"}}}',
}


def test_a_space_can_be_read_from_a_file(tmp_path: Path) -> None:
    from priorband.cli.load_objects import load_space, read_space

    for name, text in SPACES.items():
        (tmp_path / f"{name}.json").write_text(text)
    assert read_space(tmp_path / "good.json") == pb.Space(
        {
            "lr": pb.Float(1e-5, 0.1, log=True, prior=0.001),
            "n": pb.Integer(1, 5),
            "o": pb.Categorical(["a", "b"], prior="a", confidence="high"),
            "d": pb.Float(0, 1, prior=pb.Normal(0.2, sigma=0.1)),
            "c": pb.Constant(10),
            "k": pb.Ordinal([2, 4]),
        }
    )
    for name in ("list", "broken", "twice", "untyped", "unknown", "wrong", "belief", "missing"):
        with pytest.raises(pb.errors.SpaceError):
            load_space(str(tmp_path / f"{name}.json"))


def test_a_conditional_space_can_be_read_from_a_file(tmp_path: Path) -> None:
    from priorband.cli.load_objects import read_space

    number = {"type": "float", "low": 0, "high": 1}
    about = {
        "optimizer": {
            "type": "categorical",
            "choices": {
                "sgd": {"momentum": number, "nesterov": {"type": "categorical", "choices": [0, 1]}},
                "adam": {"beta": {**number, "when": {"layers": {"at_most": 4}}}},
                "none": {},
            },
            "prior": "sgd",
        },
        "layers": {"type": "integer", "low": 1, "high": 9, "step": 2},
        "lr": {**number, "when": {"optimizer": ["sgd", "adam"]}},
        "skip": {**number, "step": 0.25, "when": {"layers": {"at_least": 3}, "optimizer": "sgd"}},
        "warm": {**number, "when": {"layers": {"between": [3, 5]}}},
    }
    (tmp_path / "space.json").write_text(json.dumps(about))
    children = {"momentum": pb.Float(0, 1), "nesterov": pb.Categorical([0, 1])}
    beta = pb.Float(0, 1, when={"layers": pb.at_most(4)})
    assert read_space(tmp_path / "space.json") == pb.Space(
        {
            "optimizer": pb.Categorical(
                {"sgd": children, "adam": {"beta": beta}, "none": {}}, prior="sgd"
            ),
            "layers": pb.Integer(1, 9, step=2),
            "lr": pb.Float(0, 1, when={"optimizer": ["sgd", "adam"]}),
            "skip": pb.Float(0, 1, step=0.25, when={"layers": pb.at_least(3), "optimizer": "sgd"}),
            "warm": pb.Float(0, 1, when={"layers": pb.between(3, 5)}),
        }
    )


NUMBER = {"type": "float", "low": 0, "high": 1}
WRONG_CONDITIONS = [
    ({"b": {**NUMBER, "when": "a"}}, "Parameter `b`: `when` must be a dict of conditions"),
    ({"b": {**NUMBER, "when": {}}}, "Parameter `b`: `when` is empty"),
    ({"b": {**NUMBER, "when": {"a": {"atleast": 3}}}}, "Parameter `b`: .*Did you mean 'at_least'"),
    ({"b": {**NUMBER, "when": {"a": {"between": [3]}}}}, "Parameter `b`: .*must have two values"),
    ({"b": {**NUMBER, "when": {"a": []}}}, "Parameter `b`: The condition on `a` lists no values"),
    ({"b": {**NUMBER, "when": {"a": [[1]]}}}, "Parameter `b`: The condition on `a` has a value"),
    ({"b": {**NUMBER, "when": {"c": 3}}}, "`b` has a condition on an unknown parameter `c`"),
    ({"b": {**NUMBER, "when": {"a": 0.5}}}, "`b` can never be active: .*must be a range"),
    ({"b": {**NUMBER, "step": 0.3}}, "Parameter `b`: `high` must be `low` plus a multiple"),
    ({"b": {**NUMBER, "low": 2}}, "Parameter `b`: `low` must be below `high`"),
    ({"b": {"type": "categorical", "choices": {"x": 3}}}, "Parameter `b`: the choice 'x' must"),
    ({"b": {"type": "categorical", "choices": {"x": {"c": {}}}}}, "^Parameter `c` needs a type"),
    (
        {"b": {"type": "categorical", "choices": {"x": {"c": {**NUMBER, "low": 2}}}}},
        "^Parameter `c`: `low` must be below",
    ),
    ({"b": {"type": "categorical", "choices": {"x": {"a": NUMBER}}}}, "parameters are called `a`"),
]


@pytest.mark.parametrize(("more", "message"), WRONG_CONDITIONS)
def test_a_wrong_condition_in_a_file_is_named(
    tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    from priorband.cli.load_objects import read_space

    (tmp_path / "space.json").write_text(json.dumps({"a": NUMBER, **more}))
    with pytest.raises(pb.errors.SpaceError, match=message):
        read_space(tmp_path / "space.json")


def test_choices_within_choices_without_end_are_refused(tmp_path: Path) -> None:
    from priorband.cli.load_objects import read_space

    text = json.dumps(NUMBER)
    for depth in range(300):
        text = f'{{"type":"categorical","choices":{{"x":{{"p{depth}":{text}}}}}}}'
    (tmp_path / "space.json").write_text(f'{{"top":{text}}}')
    with pytest.raises(pb.errors.SpaceError, match="nested too deeply|is not JSON"):
        read_space(tmp_path / "space.json")


WRONG = [
    (("--objective", "nothing:f"), 1, "There is no module 'nothing'"),
    (("--objective", "objectives:valu"), 1, "Did you mean 'value'?"),
    (("--objective", "objectives:SPACE"), 1, "must be a function that is called with a trial"),
    (("--objective", "objectives.py"), 2, "such as objectives.py:train"),
    (("--objective", "nothing.py:f"), 1, "There is no file 'nothing.py'"),
    (("--objective", "objectives"), 2, "has neither the form module:name nor file.py:name"),
    (("--objective", "json:loads"), 1, "json has no SPACE to create one with"),
    ((*BASIC, "--space", "objectives:EPOCHS"), 1, "must be a Space, but has the type Fidelity"),
    ((*BASIC, "--space", "none.json"), 1, "none.json cannot be read: No such file"),
    (
        (*BASIC[:2], "--fidelity", "objectives:SPACE"),
        1,
        "must be a Fidelity, but has the type Space",
    ),
    ((*BASIC[:2], "--fidelity", "epochs"), 2, "neither name:low:high"),
    (
        (*BASIC[:2], "--fidelity", "epochs:1:many"),
        2,
        "it must be a number, such as 12 or 0.5, got 'many'",
    ),
    ((*BASIC[:2], "--fidelity", "epochs:9:1"), 2, "first, as in epochs:1:9, got"),
    ((*BASIC, "--budget", "0"), 2, "--budget must be above 0, got 0"),
    ((*BASIC, "--budget", "nan"), 2, "--budget must be a number, such as 12 or 0.5, got 'nan'"),
    ((*BASIC, "--trials", "2.5"), 2, "must be a whole number"),
    (BASIC, 1, "is a new study and needs a budget: --budget 12"),
    ((*BASIC, "--budget", "1", "--method", "priorbnd"), 1, "Did you mean 'priorband'?"),
    ((*BASIC, "--budget", "1", "--retries", "raised"), 2, "does not have the form kind=attempts"),
    ((*BASIC, "--budget", "1", "--retries", "raced=2"), 1, "Did you mean 'raised'?"),
    ((*BASIC, "--budget", "1", "--same-process", "--trial-seconds", "5"), 1, "Time limits need"),
    ((*BASIC, "--budget", "1", "--workers", "0"), 2, "at least 1"),
    ((*BASIC, "--budget", "1", "--quiet", "--json"), 2, "not allowed with"),
    ((*BASIC, "--budget", "1", "--folder", "elsewhere"), 1, "leave `folder` out"),
]


@pytest.mark.parametrize(("words", "code", "said"), WRONG, ids=lambda item: str(item)[-50:])
def test_what_is_wrong_is_said_in_one_paragraph(  # noqa: PLR0913  # fixtures and cases
    words: tuple[str, ...],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = tmp_path / "study"
    done = run_here(["run", where, *words], monkeypatch, capsys)
    assert done.returncode == code, done.stderr
    assert said in done.stderr.replace("\n", " ") and done.stdout == ""
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 3
    assert not where.exists()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def f(:", "SyntaxError: invalid syntax"),
        ("import sys; sys.exit(5)", "SystemExit: 5"),
    ],
)
def test_a_module_that_does_not_load_is_named_with_the_line(
    tmp_path: Path, source: str, said: str
) -> None:
    (tmp_path / "broken.py").write_text(f"\n{source}\n")
    done = priorband("worker", "s", "--objective", "broken:f", cwd=tmp_path)
    assert done.returncode == 1 and "Importing 'broken' failed" in done.stderr
    assert said in done.stderr and "broken.py, line 2" in done.stderr


def test_a_worker_never_makes_a_study(tmp_path: Path) -> None:
    done = priorband("worker", tmp_path / "none", *BASIC[:2])
    assert done.returncode == 1
    assert done.stderr == (
        f"priorband: There is no study in {tmp_path}/none, and `worker` adds workers to one that "
        f"exists. To create it: priorband run {tmp_path}/none --objective {BASIC[1]} --budget 12\n"
    )
    assert not (tmp_path / "none").exists()
