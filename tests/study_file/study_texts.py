"""Study files that are right, and files with one mistake each."""

RIGHT = """\
command = ["python", "train.py", "--lr", "{lr}", "--epochs", "{epochs}"]
budget = 12
fidelity = { name = "epochs", min = 1, max = 81 }
metric = { name = "val_loss" }

[space]
lr = { float = [1e-5, 1e-1], log = true, prior = 1e-3 }
"""

COMMAND = RIGHT.splitlines()[0]
CHOICES = 'optimizer = { choices = ["sgd", "adam"] }\n'


def changed(old: str, new: str) -> str:
    """The right file with one change."""
    assert old in RIGHT
    return RIGHT.replace(old, new, 1)


def more(lines: str) -> str:
    """The right file with more parameters, and a command that uses them."""
    return changed(COMMAND, 'command = ["python", "train.py", "{args}"]') + lines


EVERYTHING = """\
command = ["{python}", "train.py", "{overrides}", "--seed={seed}", "{resume_from?}", "{{x}}"]
study = "runs/all"
budget = { trainings = 12, trials = 100, cost = 5.5, hours = 8 }
workers = 2
method = "hyperband"
seed = 3
gpus_per_trial = 0
folder = "checkpoints"
lease = 60
retries = { memory = 3, raised = 1 }
show = "plain"
start = "same-process"
grace = 5
patience = 60
wait = false
keep = "all"
show_output = true

[fidelity]
name = "epochs"
min = 1
max = 81

[metric]
name = "accuracy"
goal = "maximize"
pattern = 'acc (?P<value>\\S+) at (?P<step>\\d+)'

[space]
lr = { float = [1e-5, 1e-1], log = true, prior = 1e-3, confidence = "low" }
decay = { float = [0, 1], step = 0.25, prior = { normal = 0.5, sigma = "high" } }
width = { integer = [16, 512], log = true, prior = { beta = [2, 5] } }
depth = { integer = [2, 8], step = 2, prior = 4, confidence = 0.1 }
optimizer = { choices = ["sgd", "adam"], prior = { choice = "adam", confidence = 3 } }
norm = { choices = [true, false], weights = [3, 1] }
batch = { ordinal = [16, 32, 64], weights = { 16 = 1, 64 = 2.5 } }
sizes = { choices = [[64, 64], [128]], prior = [128] }
classes = { constant = 10 }
noise = { float = [0, 1], prior = { histogram = [1, 3, 1] } }
mixed = { float = [0, 1], prior = { mixture = [0.1, { normal = 0.9 }], weights = [1, 3] } }
flat = { float = [0, 1], prior = { uniform = true } }
momentum = { float = [0, 0.99], when = { optimizer = "sgd" } }
skip = { float = [0, 1], when = { depth = { at_least = 4 }, optimizer = ["sgd", "adam"] } }
both = { constant = "x", when = { depth = { at_least = 4, at_most = 6 }, norm = true } }
between = { float = [0, 1], when = { width = { between = [20, 30] } } }
wide = { integer = [1, 2], when = { sizes = [128] } }

[space."dotted.name"]
choices = ["a", "b"]
prior = "a"
"""

VALID = {
    "the smallest": 'command = ["train"]\n[space]\nx = { float = [0, 1] }\n',
    "right": RIGHT,
    "everything": EVERYTHING,
    "an objective": 'objective = "train.py:train"\n[space]\nx = { float = [0, 1] }\n',
    "a goal of an objective": (
        'objective = "a.b:c"\nmetric = { goal = "maximize" }\n[space]\nx = { float = [0, 1] }\n'
    ),
    "beliefs apart": RIGHT + "[prior]\nlr = { normal = 1e-2, sigma = 0.1 }\n",
    "whole numbers with a point": changed("budget = 12", "workers = 2.0"),
}

WRONG = {
    "bugdet": changed("budget", "bugdet"),
    "text as a budget": changed("budget = 12", 'budget = "12"'),
    "no budget at all": changed("budget = 12", "budget = 0"),
    "an unknown limit": changed("budget = 12", "budget = { trainigs = 3 }"),
    "an empty budget": changed("budget = 12", "budget = {}"),
    "no workers": changed("budget", "workers = 0\nbudget"),
    "half a worker": changed("budget", "workers = 1.5\nbudget"),
    "a wrong word": changed("budget", 'keep = "al"\nbudget'),
    "another start": changed("budget", 'start = "hot"\nbudget'),
    "an unknown kind of failure": changed("budget", "retries = { memroy = 2 }\nbudget"),
    "a flag as text": changed("budget", 'wait = "yes"\nbudget'),
    "low instead of min": changed("min", "low"),
    "no min": changed("min = 1, ", ""),
    "a max that is text": changed("81", '"81"'),
    "another goal": changed('"val_loss"', '"val_loss", goal = "max"'),
    "a command for a shell": changed(COMMAND, 'command = "python train.py --lr {lr}"'),
    "a number in the command": changed('"{lr}"', "3"),
    "an empty command": changed(COMMAND, "command = []"),
    "an objective without a function": changed(COMMAND, 'objective = "train"'),
    "nothing to run": changed(COMMAND, ""),
    "two things to run": changed(COMMAND, f'{COMMAND}\nobjective = "a:b"'),
    "no space": RIGHT.partition("[space]")[0],
    "an empty space": RIGHT.partition("lr = { float")[0],
    "an unknown kind": changed("float =", "flaot ="),
    "two kinds": changed("float =", "integer = [1, 2], float ="),
    "one bound": changed("[1e-5, 1e-1]", "[1e-5]"),
    "bounds as text": changed("[1e-5, 1e-1]", '"1 to 2"'),
    "no parameter": changed("lr = {", "x = 3\nlr = {"),
    "an unknown key of a parameter": changed("log =", "lgo ="),
    "a confidence that is no word": changed("1e-3 }", '1e-3, confidence = "lo" }'),
    "an unknown belief": changed("prior = 1e-3", "prior = { norml = 1e-3 }"),
    "an unknown key of a belief": changed("prior = 1e-3", "prior = { normal = 1e-3, sigm = 3 }"),
    "a flat belief that is not": changed("prior = 1e-3", "prior = { uniform = false }"),
    "a table in a list of choices": more("c = { choices = [{ a = 1 }] }\n"),
    "no choices": more("c = { choices = [] }\n"),
    "a single ordinal": more("c = { ordinal = [1] }\n"),
    "a prior of a constant": more("c = { constant = 1, prior = 1 }\n"),
    "an unknown condition": more(
        CHOICES + "m = { float = [0, 1], when = { lr = { above = 1 } } }\n"
    ),
    "an empty condition": more(CHOICES + "m = { float = [0, 1], when = { lr = {} } }\n"),
    "conditions that are no table": more("m = { float = [0, 1], when = 3 }\n"),
    "no conditions": more("m = { float = [0, 1], when = {} }\n"),
    "negative weights": more('c = { choices = ["a", "b"], weights = [1, -1] }\n'),
    "a date": more("c = { constant = 1979-05-27 }\n"),
}
"""What the schema can say, and the reader must refuse as well."""
