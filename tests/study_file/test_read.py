"""Reading a study file: what it means, and what is said about each mistake."""

from pathlib import Path

import pytest
from study_texts import CHOICES, COMMAND, EVERYTHING, RIGHT, changed, more

import priorband as pb
from priorband.errors import StudyFileError
from priorband.study_file.read import StudyFile, is_study_file, read_study_file, study_place

KNOWN = (
    "{checkpoint_dir}, {resume_from}, {fidelity}, {start}, {seed}, {trial}, {attempt}, {python}, "
    "{args}, {overrides}."
)


def read(text: str, folder: Path) -> StudyFile:
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return read_study_file(folder / "study.toml")


def mistakes(text: str, folder: Path) -> list[list[str]]:
    """The lines of each mistake, without the folder."""
    with pytest.raises(StudyFileError) as error:
        read(text, folder)
    said = str(error.value).replace(f"{folder}/", "")
    return [part.split("\n") for part in said.split("\n\n")]


def test_a_file_says_what_tune_is_told(tmp_path: Path) -> None:
    file = read(RIGHT, tmp_path)
    assert file.command == ("python", "train.py", "--lr", "{lr}", "--epochs", "{epochs}")
    assert file.space == pb.Space({"lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3)})
    assert file.fidelity == pb.Fidelity("epochs", 1, 81)
    assert file.budget == pb.Budget(trainings=12)
    assert (file.metric, file.maximize, file.pattern) == ("val_loss", False, None)
    assert (file.method, file.seed, file.prior, file.options) == (None, None, None, {})
    assert file.notes == ()


def test_everything_has_its_key(tmp_path: Path) -> None:
    file = read(EVERYTHING, tmp_path)
    assert file.budget == pb.Budget(trainings=12, trials=100, cost=5.5, hours=8)
    assert file.maximize and file.metric == "accuracy"
    assert file.study == str(tmp_path / "runs" / "all")
    assert (file.method, file.seed) == ("hyperband", 3)
    assert file.options == {
        **{"workers": 2, "gpus_per_trial": 0, "folder": str(tmp_path / "checkpoints")},
        **{"lease": 60, "retries": {"memory": 3, "raised": 1}, "show": "plain"},
        **{"start": "same-process", "grace": 5, "patience": 60, "wait": False},
        **{"keep": "all", "show_output": True},
    }


def test_every_kind_of_parameter_and_belief_is_what_python_would_make(tmp_path: Path) -> None:
    assert read(EVERYTHING, tmp_path).space == pb.Space(
        {
            "lr": pb.Float(1e-5, 1e-1, log=True, prior=1e-3, confidence="low"),
            "decay": pb.Float(0, 1, step=0.25, prior=pb.Normal(0.5, "high")),
            "width": pb.Integer(16, 512, log=True, prior=pb.Beta(2, 5)),
            "depth": pb.Integer(2, 8, step=2, prior=4, confidence=0.1),
            "optimizer": pb.Categorical(["sgd", "adam"], prior=pb.Weights("adam", 3)),
            "norm": pb.Categorical([True, False], prior={True: 3, False: 1}),
            "batch": pb.Ordinal([16, 32, 64], prior={16: 1, 64: 2.5}),
            "sizes": pb.Categorical([(64, 64), (128,)], prior=(128,)),
            "classes": pb.Constant(10),
            "noise": pb.Float(0, 1, prior=pb.Histogram([1, 3, 1])),
            "mixed": pb.Float(0, 1, prior=pb.Mixture([0.1, pb.Normal(0.9)], weights=[1, 3])),
            "flat": pb.Float(0, 1, prior=pb.Uniform()),
            "momentum": pb.Float(0, 0.99, when={"optimizer": "sgd"}),
            "skip": pb.Float(0, 1, when={"depth": pb.at_least(4), "optimizer": ["sgd", "adam"]}),
            "both": pb.Constant("x", when={"depth": pb.between(4, 6), "norm": True}),
            "between": pb.Float(0, 1, when={"width": pb.between(20, 30)}),
            "wide": pb.Integer(1, 2, when={"sizes": (128,)}),
            "dotted.name": pb.Categorical(["a", "b"], prior="a"),
        }
    )


def test_beliefs_apart_from_the_space_replace_its_own(tmp_path: Path) -> None:
    file = read(RIGHT + "[prior]\nlr = { normal = 1e-2, sigma = 0.1 }\n", tmp_path)
    assert file.prior == {"lr": pb.Normal(1e-2, 0.1)}


@pytest.mark.parametrize(
    ("stated", "place"),
    [
        ("", "runs/study"),
        ('study = "lab/a"', "lab/a"),
        ('study = "/data/a"', "/data/a"),
        ('study = "postgresql://host/lab#a"', "postgresql://host/lab#a"),
    ],
)
def test_places_are_relative_to_the_file(stated: str, place: str, tmp_path: Path) -> None:
    expected = place if place.startswith(("/", "postgresql")) else str(tmp_path / place)
    assert read(f"{stated}\n{RIGHT}", tmp_path).study == expected
    assert study_place(tmp_path / "study.toml") == expected


def test_the_place_is_known_though_something_else_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('study = "x"\nbugdet = 3\n')
    assert study_place(tmp_path / "a.toml") == str(tmp_path / "x")
    (tmp_path / "a.toml").write_text("study = 3\n")
    with pytest.raises(StudyFileError, match="`study` must be a string that is not empty, got 3"):
        study_place(tmp_path / "a.toml")


def test_a_folder_may_be_called_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    assert not is_study_file(str(tmp_path / "folder.toml"))
    assert is_study_file(str(tmp_path / "none.toml"))


MESSAGES = {
    "an unknown key": (
        changed("budget", "bugdet"),
        "study.toml:2:1: A study file has no key `bugdet`. Did you mean `budget`?",
        "  2 | bugdet = 12",
        "    | ^^^^^^",
    ),
    "a key of another library": (
        changed("budget = 12", "n_trials = 12"),
        "study.toml:2:1: A study file has no key `n_trials`. Write budget = { trials = 100 }.",
        "  2 | n_trials = 12",
        "    | ^^^^^^^^",
    ),
    "a wrong type": (
        changed("budget = 12", 'budget = "12"'),
        "study.toml:2:10: `budget` must be a number of full trainings above 0, or a table such as "
        '{ trainings = 12, hours = 8 }, got "12".',
        '  2 | budget = "12"',
        "    |          ^^^^",
    ),
    "a wrong word": (
        changed("budget = 12", 'keep = "al"'),
        'study.toml:2:8: `keep` must be "promotable" or "all", got "al". Did you mean `all`?',
        '  2 | keep = "al"',
        "    |        ^^^^",
    ),
    "an unknown key of a parameter": (
        changed("log = true", "lgo = true"),
        "study.toml:7:30: `lr` has no key `lgo`. Did you mean `log`?",
        "  7 | lr = { float = [1e-5, 1e-1], lgo = true, prior = 1e-3 }",
        "    |                              ^^^",
    ),
    "an unknown kind of parameter": (
        changed("float", "flaot"),
        "study.toml:7:8: `lr` has no key `flaot`. Did you mean `float`?",
        "  7 | lr = { flaot = [1e-5, 1e-1], log = true, prior = 1e-3 }",
        "    |        ^^^^^",
    ),
    "bounds in the wrong order": (
        changed("[1e-5, 1e-1]", "[1, 0]"),
        "study.toml:7:16: `low` must be below `high`, got low=1.0 and high=0.0. Swap them.",
        "  7 | lr = { float = [1, 0], log = true, prior = 1e-3 }",
        "    |                ^^^^^^",
    ),
    "a log scale from zero": (
        changed("[1e-5, 1e-1]", "[0, 1]"),
        "study.toml:7:16: A log scale needs `low` above 0, got 0.0. Raise `low`, or drop "
        "`log = true`.",
        "  7 | lr = { float = [0, 1], log = true, prior = 1e-3 }",
        "    |                ^^^^^^",
    ),
    "a prior out of range": (
        changed("prior = 1e-3", "prior = 1"),
        "study.toml:7:50: `prior` must be a number in [1e-05, 0.1], got 1. "
        "Choose another value, or widen the range.",
        "  7 | lr = { float = [1e-5, 1e-1], log = true, prior = 1 }",
        "    |                                                  ^",
    ),
    "a confidence without a prior": (
        changed("prior = 1e-3", 'confidence = "low"'),
        "study.toml:7:42: `lr` has a `confidence`, but no `prior` that is a value. Add one, or "
        "drop the `confidence`.",
        '  7 | lr = { float = [1e-5, 1e-1], log = true, confidence = "low" }',
        "    |                                          ^^^^^^^^^^",
    ),
    "a placeholder of nothing": (
        changed("{lr}", "{lrr}"),
        "study.toml:1:43: {lrr} is neither a parameter nor the fidelity. Did you mean `lr`? Known "
        "are {lr}, {epochs}, " + KNOWN,
        '  1 | command = ["python", "train.py", "--lr", "{lrr}", "--epochs", "{epochs}"]',
        "    |                                           ^^^^^",
    ),
    "a brace without a partner": (
        changed("{lr}", "{lr"),
        "study.toml:1:43: The brace { has no partner. Write {{ for a brace.",
        '  1 | command = ["python", "train.py", "--lr", "{lr", "--epochs", "{epochs}"]',
        "    |                                           ^",
    ),
    "several words within a word": (
        changed('"{lr}"', '"--x={args}"'),
        "study.toml:1:47: {args} becomes several words, so it must be a string of its own.",
        '  1 | ...["python", "train.py", "--lr", "--x={args}", "--epochs", "{epochs}"]',
        "    |                                        ^^^^^^",
    ),
    "a command for a shell": (
        changed(COMMAND, 'command = "python train.py {lr}"'),
        "study.toml:1:11: `command` must be a list, as no shell reads it: "
        '["python", "train.py", "{lr}"].',
        '  1 | command = "python train.py {lr}"',
        "    |           ^^^^^^^^^^^^^^^^^^^^^^",
    ),
    "a condition on nothing": (
        more(CHOICES + 'm = { float = [0, 1], when = { optimzer = "sgd" } }\n'),
        "study.toml:9:32: `when` of `m` names `optimzer`, which is no parameter. Did you mean "
        "`optimizer`?",
        '  9 | m = { float = [0, 1], when = { optimzer = "sgd" } }',
        "    |                                ^^^^^^^^",
    ),
    "a condition that never holds": (
        more(CHOICES + 'm = { float = [0, 1], when = { optimizer = "sdg" } }\n'),
        "study.toml:9:30: Parameter `m` can never be active: its condition on `optimizer` must be "
        "one of 'sgd', 'adam', got 'sdg'.",
        '  9 | m = { float = [0, 1], when = { optimizer = "sdg" } }',
        "    |                              ^^^^^^^^^^^^^^^^^^^^^",
    ),
    "a conditional parameter that is always passed": (
        changed("{lr}", "{m}") + CHOICES + 'm = { float = [0, 1], when = { optimizer = "sgd" } }\n',
        "study.toml:1:43: {m} is not always used: `m` has a `when`. Write {m?}, which leaves the "
        "option out, too.",
        '  1 | command = ["python", "train.py", "--lr", "{m}", "--epochs", "{epochs}"]',
        "    |                                           ^^^",
    ),
    "the fidelity among the parameters": (
        RIGHT + "epochs = { integer = [1, 3] }\n",
        "study.toml:8:1: `epochs` is the fidelity, so it cannot be searched, too. Rename or drop "
        "it.",
        "  8 | epochs = { integer = [1, 3] }",
        "    | ^^^^^^",
    ),
    "fidelity bounds in the wrong order": (
        changed("min = 1", "min = 100"),
        "study.toml:3:48: `max` of `fidelity` must not be below its `min`.",
        '  3 | fidelity = { name = "epochs", min = 100, max = 81 }',
        "    |                                                ^^",
    ),
    "a pattern without a group": (
        changed('"val_loss"', '"val_loss", pattern = "loss"'),
        "study.toml:4:41: `pattern` needs a group for the value, such as 'loss is ([0-9.]+)', or "
        "one called `value` if there are several: (?P<value>[0-9.]+).",
        '  4 | metric = { name = "val_loss", pattern = "loss" }',
        "    |                                         ^^^^^^",
    ),
    "an unknown method": (
        changed("budget", 'method = "piorband"\nbudget'),
        "study.toml:2:10: There is no method `piorband`. Did you mean `priorband`? "
        "`priorband methods` lists them.",
        '  2 | method = "piorband"',
        "    |          ^^^^^^^^^^",
    ),
    "a key twice": (
        changed("budget = 12", "budget = 12\nbudget = 13"),
        "study.toml:3:1: `budget` is there twice. Drop one of them.",
        "  3 | budget = 13",
        "    | ^^^^^^",
    ),
    "a text without quotes": (
        changed("budget = 12", "show = plain"),
        'study.toml:2:8: This is not valid TOML: Invalid value. A string needs quotes: "text".',
        "  2 | show = plain",
        "    |        ^",
    ),
    "Python's True": (
        changed("budget = 12", "wait = True"),
        "study.toml:2:8: This is not valid TOML: Invalid value. Write true and false in lower "
        "case.",
        "  2 | wait = True",
        "    |        ^",
    ),
    "a parameter that is a list": (
        changed("lr = {", 'o = ["a", "b"]\nlr = {'),
        'study.toml:7:5: `o` must be a table: { choices = ["a", "b"] }, got ["a", "b"].',
        '  7 | o = ["a", "b"]',
        "    |     ^^^^^^^^^^",
    ),
    "weights that do not fit": (
        more('o = { choices = ["a", "b"], weights = { c = 1 } }\n'),
        'study.toml:8:39: There is no choice \'c\'. The choices are "a", "b".',
        '  8 | o = { choices = ["a", "b"], weights = { c = 1 } }',
        "    |                                       ^^^^^^^^^",
    ),
    "a belief about nothing": (
        RIGHT + "[prior]\nlrr = 1e-2\n",
        "study.toml:9:1: `prior` names `lrr`, which is not searched. Did you mean `lr`?",
        "  9 | lrr = 1e-2",
        "    | ^^^",
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_mistake_is_shown_with_its_place_and_a_proposal(name: str, tmp_path: Path) -> None:
    text, *lines = MESSAGES[name]
    assert mistakes(text, tmp_path) == [lines]


def test_no_password_is_shown(tmp_path: Path) -> None:
    text = changed("budget", 'study = ["postgresql://ann:secret/@host/lab"]\nbudget')
    [lines] = mistakes(text, tmp_path)
    assert "secret" not in "".join(lines)
    assert lines[1] == '  2 | study = ["postgresql://ann:*******@host/lab"]'


def test_what_is_missing_has_no_place(tmp_path: Path) -> None:
    assert mistakes("budget = 12\n", tmp_path) == [
        [
            'study.toml: There is no `command`, such as ["python", "train.py", "--lr", "{lr}"], '
            'and no `objective`, such as "train.py:train".'
        ],
        [
            "study.toml: There is no section [space] with the parameters, such as "
            "lr = { float = [1e-5, 1e-1], log = true }."
        ],
    ]


def test_all_mistakes_are_shown_in_their_order(tmp_path: Path) -> None:
    text = changed("prior = 1e-3", "prior = 7").replace("budget = 12", "workers = 0\nseed = 1.5")
    places = [lines[0].split(": ")[0] for lines in mistakes(text, tmp_path)]
    assert places == ["study.toml:2:11", "study.toml:3:8", "study.toml:8:50"]


def test_a_long_line_is_cut_around_the_mistake(tmp_path: Path) -> None:
    padding = '"x", ' * 40
    [lines] = mistakes(
        changed('["python", ', f'["python", {padding}').replace("{lr}", "{q}"), tmp_path
    )
    assert max(map(len, lines[1:])) <= 80
    marked = lines[1][lines[2].index("^") : lines[2].rindex("^") + 1]
    assert marked == "{q}"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_and_byte_order_marks_of_windows_are_fine(newline: str, tmp_path: Path) -> None:
    data = changed("budget", "bugdet").replace("\n", newline).encode("utf-8-sig")
    (tmp_path / "study.toml").write_bytes(data)
    with pytest.raises(StudyFileError, match=r"study\.toml:2:1: "):
        read_study_file(tmp_path / "study.toml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match="cannot be read: No such file or directory"):
        read_study_file(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(StudyFileError, match="is not text in UTF-8: byte 5 is 0xe9"):
        read_study_file(tmp_path / "latin.toml")


def test_what_the_command_does_not_use_is_noted(tmp_path: Path) -> None:
    file = read(changed('"--epochs", "{epochs}"', '"x"') + CHOICES, tmp_path)
    assert file.notes == (
        f"{tmp_path}/study.toml, line 8: the command does not use `optimizer`: add {{optimizer}} "
        "to it.",
        f"{tmp_path}/study.toml, line 3: the command does not use `epochs`, so every trial trains "
        "for the same time: add {epochs} to it.",
    )


def test_a_program_that_is_not_there_is_noted_before_anything_runs(tmp_path: Path) -> None:
    file = read(changed('"python"', '"pythn3"'), tmp_path)
    with pytest.raises(StudyFileError) as error:
        file.command_objective()
    assert (
        str(error.value)
        .splitlines()[0]
        .endswith("study.toml:1:12: There is no program `pythn3` on the PATH.")
    )


@pytest.mark.parametrize("words", ['"python"', '"{python}", "-u"'])
def test_a_script_that_is_not_there_is_noted_before_anything_runs(
    words: str, tmp_path: Path
) -> None:
    file = read(changed('"python"', words), tmp_path)
    (tmp_path / "training.py").touch()
    with pytest.raises(StudyFileError) as error:
        file.command_objective()
    [said, line, carets] = str(error.value).splitlines()
    assert said.endswith(f" There is no file `train.py` in {tmp_path}. Did you mean `training.py`?")
    assert line[carets.index("^") : carets.rindex("^") + 1] == '"train.py"'
    (tmp_path / "train.py").touch()
    file.command_objective()
