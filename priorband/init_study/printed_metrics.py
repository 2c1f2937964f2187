"""Which metrics a script prints or logs, and in which form, read from its source."""

import ast
import re
from collections.abc import Iterator
from typing import Literal, final

from priorband.init_study.calls import dotted
from priorband.values import frozen

Goal = Literal["minimize", "maximize"]

_NOT_A_METRIC = r"time|times|duration|seconds?|secs?|ms|took|epochs?|steps?|lr|saved|file|path"
_MOST_WORDS = 5
_LAST_WORDS = 2
"""A label is short, and what it measures is among its last words."""
_VALUE = "\0"
"""Stands for a value within printed text."""
_PRINTERS = ("print", "info", "debug", "warning", "write", "echo", "secho", "print_log")
_LOGGERS = ("log", "log_metrics", "log_dict", "log_metric", "add_scalar", "track", "report")
_LOW_IS_GOOD = (
    r"loss|error|err|rmse|mse|mae|mape|perplexity|ppl|nll|elbo_loss|wer|cer|fid|bpc|bpd|regret|"
    r"log_?loss|deviance|cost"
)
_HIGH_IS_GOOD = (
    r"acc|accuracy|acc1|acc5|top_?1|f1|f1_score|auc|auroc|roc_auc|ap|map|map50|miou|iou|dice|bleu|rouge|"
    r"precision|recall|r2|score|reward|return|psnr|ssim|mrr|ndcg|hit|kappa|mcc|elbo|likelihood|"
    r"correlation|pearson|spearman|success_rate|silhouette"
)
_HELD_OUT = r"val|valid|validation|dev|eval|evaluation|test|testing|heldout|holdout|cv"
_NOT_HELD_OUT = (
    r"train|training|tr|batch|running|step|iter|min|max|std|total|target|baseline|before|weight|"
    r"initial"
)
_LABEL = re.compile(r"([A-Za-z][\w@.\-/ ]*?)\s*(?:\([^()]*\))?\s*[:=]*\s*[\[(]?\s*$")
_PERCENT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[diouxXeEfFgGs]")
_BRACES = re.compile(r"(?<!\{)\{[^{}]*\}(?!\})")


@final
@frozen
class FoundMetric:
    """A metric that a script prints or logs.

    Args:
        name: its name in the study file.
        goal: whether low or high values are good.
        label: the printed text in front of the value; empty if it is only logged.
        line: where in the source.
        function: what is called to print or log it.
    """

    name: str
    goal: Goal
    label: str
    line: int
    function: str

    @property
    def pattern(self) -> str | None:
        """A regular expression for its value; None for `name=value` and `name: value`."""
        usual = rf"(?:\W*[^\w./-])?{re.escape(self.name)}\s*[:=]\s*"
        if not self.label or re.fullmatch(usual, self.label):
            return None
        return f"{_loose(self.label)}({_NUMBER})"


_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|[-+]?inf"


def _loose(label: str) -> str:
    """A label as a regular expression in which any amount of white space matches."""
    words = [re.escape(word) for word in label.split()]
    return r"\s*".join([*words, ""]) if words else ""


def printed_metrics(tree: ast.AST) -> list[FoundMetric]:
    """The metrics of a script, the most likely objective first."""
    found: dict[str, FoundMetric] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for metric in _of_call(node):
                before = found.get(metric.name)
                later = before is None or (bool(metric.label), metric.line) > (
                    bool(before.label),
                    before.line,
                )
                if later:
                    found[metric.name] = metric
    return sorted(found.values(), key=_rank)


def _rank(metric: FoundMetric) -> tuple[int, bool, bool, int]:
    """Printed before logged, held-out before training, losses before others, last before first."""
    words = metric.name.split("_")
    held_out = any(re.fullmatch(_HELD_OUT, word) for word in words)
    training = any(re.fullmatch(_NOT_HELD_OUT, word) for word in words)
    place = 0 if held_out and not training else 2 if training else 1
    return place, not metric.label, metric.goal == "maximize", -metric.line


def _of_call(call: ast.Call) -> Iterator[FoundMetric]:
    function = dotted(call.func)
    last = function.rpartition(".")[2]
    if last in _PRINTERS or function == "log":  # x.log(...) does not print in most libraries
        for label in _labels(_printed_text(call)):
            yield from _metric(label, label, call.lineno, function)
    if last in _LOGGERS:
        for name in _logged_names(call):
            yield from _metric(name, "", call.lineno, function)


def _metric(words: str, label: str, line: int, function: str) -> Iterator[FoundMetric]:
    name = _metric_name(words)
    goal = goal_of("_".join(name.split("_")[-_LAST_WORDS:]))
    words_of_name = name.split("_")
    if len(words_of_name) > _MOST_WORDS or ". " in label:
        return  # a sentence
    if any(re.fullmatch(_NOT_A_METRIC, word) for word in words_of_name):
        return
    if name and goal:
        yield FoundMetric(name, goal, label, line, function)


def _metric_name(label: str) -> str:
    """`val_loss` of `Epoch 3, Val Loss: `."""
    found = _LABEL.search(label)
    words = re.sub(r"[^\w]+", "_", found[1]).strip("_").lower() if found else ""
    return re.sub(r"_+", "_", words)


def goal_of(name: str) -> Goal | None:
    """Whether low or high values of a metric are good, by its name; None if it does not say.

    >>> goal_of("val_loss"), goal_of("test/acc"), goal_of("epoch")
    ('minimize', 'maximize', None)
    """
    words = re.split(r"[^a-z0-9]+", name.lower())
    last_two = [*words, "_".join(words[-2:])]
    if any(re.fullmatch(_HIGH_IS_GOOD, word) for word in last_two):
        return "maximize"
    if any(re.fullmatch(_LOW_IS_GOOD, word) for word in last_two):
        return "minimize"
    return None


def _labels(text: str) -> Iterator[str]:
    """The text in front of each value, back to the value or the separator before."""
    parts = text.split(_VALUE)
    for before in parts[:-1]:
        label = re.split(r"[,;|\t\n]|(?<!\w)-(?!\w)|\s{2,}|[\])]\s", before)[-1].strip()
        if label:
            yield label


def _printed_text(call: ast.Call) -> str:
    """What a call prints, with `_VALUE` for what is computed."""
    return " ".join(_text(argument) for argument in _with_lazy_format(call.args))


def _with_lazy_format(arguments: list[ast.expr]) -> list[ast.expr]:
    """The arguments of a call; of `info("loss %f", loss)` the text alone."""
    first = _constant_text(arguments[0]) if len(arguments) > 1 else ""
    if not _PERCENT.search(first):
        return arguments
    return [ast.BinOp(left=arguments[0], op=ast.Mod(), right=ast.Constant(0))]


def _constant_text(node: ast.expr | None) -> str:
    """The text of a string constant; empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return ""


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else _VALUE
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _PERCENT.sub(_VALUE, _text(node.left))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _text(node.left) + _text(node.right)
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute) and func.attr == "format":
        return _BRACES.sub(_VALUE, _text(func.value))
    return _VALUE


def _logged_names(call: ast.Call) -> Iterator[str]:
    """The names in `wandb.log({"val_loss": x})` and `self.log("val_loss", x)`."""
    for argument in call.args[:1]:
        if isinstance(argument, ast.Dict):
            yield from filter(None, map(_constant_text, argument.keys))
        elif " " not in _constant_text(argument) and len(call.args) > 1:
            yield _constant_text(argument)
