"""Likely bounds and scales of hyperparameters, by name and default.

`RULES` is tried from the top; the first rule whose pattern matches whole words of the name wins.
`docs/init.md` shows the same table.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, final

from priorband.init_study.option import Option
from priorband.values import frozen

Shape = Literal["times", "between", "powers", "up to", "odd"]
"""How a range is made of a default.

times: on a log scale, from the default divided by `factor` to the default times `factor`; without a
    default above 0, from `low` to `high`.
between: from `low` to `high`, widened if the default is outside.
powers: the default, halved and doubled up to twice; a log range if it is no power of two.
up to: whole numbers from 1 to twice the default.
odd: the odd numbers around the default.
"""


@final
@frozen
class BoundsRule:
    """Bounds for all options whose name contains certain words."""

    words: str
    shape: Shape
    low: float = 0.0
    high: float = 0.0
    factor: float = 0.0
    log: bool = False

    def matches(self, name: str) -> bool:
        """Whether the rule is for an option of this name."""
        return re.search(rf"(^|_)({self.words})(_|$)", plain_name(name)) is not None


@final
@frozen
class SpaceEntry:
    """One line of `[space]`: a parameter, why it looks like this, and whether it is searched."""

    name: str
    definition: Mapping[str, Any]
    why: str
    searched: bool = True


_RATES = (
    "(?:\\w*lr|learning_rate|learningrate|eta|step_size)"
    "(?=$|_(?:init|initial|start|max|base|g|d|gen|disc|actor|critic|encoder|decoder|head|backbone)$)"
)
RULES = (
    BoundsRule("min_lr|lr_min|eta_min|warmup_lr|final_lr", "times", 1e-8, 1e-4, 100),
    BoundsRule("lr_decay|lr_gamma|decay_rate|lr_factor|step_gamma", "between", 0.1, 1.0),
    BoundsRule(_RATES, "times", 1e-5, 1e-1, 100),
    BoundsRule("ema_decay|model_ema_decay|polyak|ema", "between", 0.9, 0.9999),
    BoundsRule("weight_decay|wd|decay|l2|l2_reg|l1|l1_reg|weightdecay", "times", 1e-6, 1e-1, 100),
    BoundsRule("drop_path|droppath|stochastic_depth|drop_block", "between", 0.0, 0.5),
    BoundsRule("\\w*dropout|drop|drop_rate|dropout_rate|p_drop|keep_prob", "between", 0.0, 0.7),
    BoundsRule("momentum", "between", 0.0, 0.99),
    BoundsRule("beta_?1|b1", "between", 0.5, 0.99),
    BoundsRule("beta_?2|b2", "between", 0.9, 0.9999),
    BoundsRule("label_smoothing|smoothing", "between", 0.0, 0.3),
    BoundsRule("mixup|cutmix|mixup_alpha|cutmix_alpha|mixup_prob", "between", 0.0, 1.0),
    BoundsRule("warmup_ratio|warmup_fraction|warmup_proportion|pct_start", "between", 0.0, 0.3),
    BoundsRule("temperature|temp|tau", "times", 0.01, 10.0, 10),
    BoundsRule("\\w*clip\\w*|max_norm|max_grad_norm|clip_norm", "times", 0.1, 10.0, 10),
    BoundsRule("eps|epsilon", "times", 1e-10, 1e-6, 100),
    BoundsRule("gae_lambda|lam", "between", 0.8, 1.0),
    BoundsRule("subsample|bagging_fraction|row_sample", "between", 0.4, 1.0),
    BoundsRule("colsample\\w*|feature_fraction|max_features", "between", 0.3, 1.0),
    BoundsRule(
        "reg_alpha|reg_lambda|lambda|l2_leaf_reg|reg|regularization", "times", 1e-4, 1e1, 100
    ),
    BoundsRule("min_child_weight|min_samples\\w*|min_data_in_leaf", "times", 1, 100, 10),
    BoundsRule("num_leaves|max_leaves|leaf_nodes", "times", 7, 255, 4),
    BoundsRule("max_depth|tree_depth", "up to", 2, 12),
    BoundsRule("max_bins?|num_bins|n_bins|bins", "between", 16, 255),
    BoundsRule("batch_size|batchsize|batch|bs|bsz|minibatch\\w*|mb_size", "powers", 8, 512),
    BoundsRule("heads|n_head|num_heads|nhead|attention_heads", "powers", 1, 16),
    BoundsRule("kernel|kernel_size", "odd", 3, 9),
    BoundsRule("n?_?layers?|\\w*layers|depth|blocks|n_blocks|num_blocks", "up to", 1, 8),
    BoundsRule(
        "hidden\\w*|width|units|dim|channels?|filters|features|n_embd|embed\\w*|emb|neurons|"
        "nhid|hid|latent|rank|ffn|mlp|dmodel|d_model|d_ff|ngf|ndf|nz|growth_rate",
        "powers",
        16,
        512,
    ),
    BoundsRule("c|penalty_c", "times", 1e-3, 1e3, 1000),
)
_TUNED_CHOICES = (
    r"optimi[sz]er|optim|opt|solver|scheduler|sched|schedule|lr_policy|activation|act|nonlinearity|"
    r"init|initiali[sz]er|norm|normali[sz]ation|pooling|pool|kernel|penalty|booster|criterion|"
    r"augment|augmentation|aug|loss_type"
)
_MOST_ABOVE = 10
_POWERS = (0.25, 0.5, 1, 2, 4)
_OTHER_WHOLE_NUMBERS = 4
_OTHER_FLOATS = 10


def bounds_table() -> str:
    """The rules as the table of `docs/init.md`."""
    rows = ["| words | bounds | without a default |", "|---|---|---|"]
    for rule in RULES:
        words = rule.words.replace("|", ", ").replace("\\w*", "*").replace("_?", "")
        words = "lr, learning_rate, eta, step_size" if rule.words == _RATES else words
        usual = f"{rule.low:g} to {rule.high:g}"
        made = {
            "times": f"times {rule.factor:g}",
            "between": usual,
            "powers": "halved and doubled up to twice",
            "up to": "1 to twice the default",
            "odd": "odd numbers around the default",
        }[rule.shape]
        rows.append(f"| {words} | {made} | {usual} |")
    return "\n".join(rows)


def plain_name(name: str) -> str:
    """A name in lower case with underscores, without the part before the last dot.

    >>> plain_name("optimizer.learning-rate"), plain_name("learningRate")
    ('learning_rate', 'learning_rate')
    """
    last = name.rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).replace("-", "_").lower()


def entry(option: Option) -> SpaceEntry:
    """The parameter for an option that is likely to be a hyperparameter."""
    if option.choices:
        return _of_choices(option)
    if option.kind in ("switch", "flag"):
        return _of_switch(option)
    if option.kind == "yes-no":
        return _of_yes_no(option)
    rule = next((rule for rule in RULES if rule.matches(option.name)), None)
    if option.low is not None and option.high is not None:
        return _of_bounds(option, option.low, option.high)
    return _of_rule(option, rule) if rule else _of_default(option)


def has_tuned_word(name: str) -> bool:
    """Whether the choices of an option of this name are likely to be a hyperparameter."""
    return re.search(rf"(^|_)({_TUNED_CHOICES})(_|$)", plain_name(name)) is not None


def known(option: Option) -> bool:
    """Whether the table has a rule for the name of an option."""
    return any(rule.matches(option.name) for rule in RULES)


def _of_choices(option: Option) -> SpaceEntry:
    """Numbers in order are ordinal, everything else is categorical."""
    numbers = all(isinstance(c, int | float) and not isinstance(c, bool) for c in option.choices)
    key = "ordinal" if numbers and [*option.choices] == sorted(option.choices) else "choices"
    definition: dict[str, Any] = {key: list(option.choices)}
    why = f"choices of {option.shown}; it has no default"
    if option.default in option.choices:
        definition["prior"] = option.default
        why = f"choices and default of {option.shown}"
    searched = known(option) or has_tuned_word(option.name)
    if not searched:
        why += "; no rule for this name: uncomment the line to search it"
    return SpaceEntry(option.name, definition, why, searched)


def _of_switch(option: Option) -> SpaceEntry:
    on, off = (option.flags[0], "") if option.kind == "flag" else option.flags
    definition: dict[str, Any] = {"choices": [on, off]}
    if isinstance(option.default, bool):
        definition["prior"] = on if option.default else off
    why = f"{on} or {off or 'nothing'}; the value is the option itself"
    return SpaceEntry(option.name, definition, why)


def _of_yes_no(option: Option) -> SpaceEntry:
    as_text = bool(option.flags)  # Hydra reads true and false, most others True and False
    words: list[Any] = ["True", "False"] if as_text else [True, False]
    definition: dict[str, Any] = {"choices": words}
    if isinstance(option.default, bool):
        definition["prior"] = str(option.default) if as_text else option.default
    return SpaceEntry(option.name, definition, f"{_said(option)}; true or false")


def _of_bounds(option: Option, low: float, high: float) -> SpaceEntry:
    why = f"the range that {option.shown} allows"
    return _numbers(option, (low, high), log=low > 0 and high / low >= 1000, why=why)


def _of_rule(option: Option, rule: BoundsRule) -> SpaceEntry:
    made = {
        "times": _times,
        "between": _between,
        "powers": _powers,
        "up to": _up_to,
        "odd": _odd,
    }[rule.shape]
    return made(option, rule)


def _default(option: Option) -> float | None:
    value = option.default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _said(option: Option) -> str:
    if _default(option) is None and not isinstance(option.default, bool):
        return f"{option.shown} has no default, so there is no prior"
    return f"default of {option.shown}"


def _numbers(option: Option, bounds: tuple[float, float], *, log: bool, why: str) -> SpaceEntry:
    """A range of numbers, with the default as the prior where it is inside."""
    low, high = bounds
    whole = option.kind == "integer"
    if whole:
        low = max(math.floor(low), 1) if log else math.floor(low)
        high = max(math.ceil(high), low + 1)
    definition: dict[str, Any] = {"integer" if whole else "float": [low, high]}
    if log:
        definition["log"] = True
    default = _default(option)
    if default is not None and low <= default <= high:
        definition["prior"] = default
    return SpaceEntry(option.name, definition, why)


def _times(option: Option, rule: BoundsRule) -> SpaceEntry:
    default = _default(option)
    if default is None or default <= 0:
        why = _said(option) if default is None else f"the default of {option.shown} is {default:g}"
        tail = "" if default is None else ", which a log scale cannot hold, so there is no prior"
        return _numbers(option, (rule.low, rule.high), log=True, why=f"{why}{tail}; usual bounds")
    high = min(default * rule.factor, max(rule.high, default * _MOST_ABOVE))
    bounds = (_round(default / rule.factor), _round(high))
    words = {10: "ten", 100: "a hundred", 1000: "a thousand"}
    times = words.get(int(rule.factor), f"{rule.factor:g}")
    ways = "both ways" if high == default * rule.factor else f"down, and up to {_round(high):g}"
    why = f"{_said(option)}; a range of {times} times {ways}"
    return _numbers(option, bounds, log=True, why=why)


def _between(option: Option, rule: BoundsRule) -> SpaceEntry:
    default = _default(option)
    if default is not None and default > 1 and rule.high <= 1:
        return _of_default(option)
    low, high = rule.low, rule.high
    if default is not None:
        low, high = min(low, default), max(high, default)
    return _numbers(option, (low, high), log=False, why=f"{_said(option)}; usual bounds")


def _powers(option: Option, rule: BoundsRule) -> SpaceEntry:
    default = _default(option)
    if default is None or default < 1:
        bounds = (rule.low, rule.high)
        return _numbers(option, bounds, log=True, why=f"{_said(option)}; usual bounds")
    if float(default).is_integer() and int(default) & (int(default) - 1) == 0:
        values = [int(default * times) for times in _POWERS if default * times >= 1]
        definition = {"ordinal": values, "prior": int(default)}
        why = f"{_said(option)}; halved and doubled up to twice"
        return SpaceEntry(option.name, definition, why)
    why = f"{_said(option)}; a range of 4 times both ways"
    return _numbers(option, (default / 4, default * 4), log=True, why=why)


def _up_to(option: Option, rule: BoundsRule) -> SpaceEntry:
    default = _default(option)
    if default is None or default < 1:
        bounds = (rule.low, rule.high)
        return _numbers(option, bounds, log=False, why=f"{_said(option)}; usual bounds")
    low = min(rule.low, default)
    high = max(2 * default, low + 2)
    return _numbers(option, (low, high), log=False, why=f"{_said(option)}; up to twice as many")


def _odd(option: Option, rule: BoundsRule) -> SpaceEntry:
    default = _default(option)
    if default is None or default % 2 == 0:
        values = list(range(int(rule.low), int(rule.high) + 1, 2))
    else:
        values = [int(default) + step for step in (-2, 0, 2, 4) if default + step >= 1]
    definition: dict[str, Any] = {"ordinal": values}
    if default in values:
        definition["prior"] = int(default or 0)
    return SpaceEntry(option.name, definition, f"{_said(option)}; odd numbers around it")


def _of_default(option: Option) -> SpaceEntry:
    """No rule for this name: bounds from the default alone."""
    default = _default(option)
    if default is None:
        bounds = (0.0, 1.0) if option.kind == "float" else (1, 10)
        why = f"{_said(option)}; the bounds are a placeholder: set them before you search it"
        return SpaceEntry(*_parts(_numbers(option, bounds, log=False, why=why)), searched=False)
    if option.kind == "integer":
        return _other_whole_number(option, int(default))
    if 0 <= default <= 1:
        why = f"{_said(option)}; no rule for this name, so from 0 to 1"
        return _numbers(option, (0.0, 1.0), log=False, why=why)
    if default < 0:
        why = f"{_said(option)}; no rule for this name: check the bounds"
        bounds = (_round(2 * default), 0.0)
        return SpaceEntry(*_parts(_numbers(option, bounds, log=False, why=why)), searched=False)
    bounds = (_round(default / _OTHER_FLOATS), _round(default * _OTHER_FLOATS))
    why = f"{_said(option)}; no rule for this name, so ten times both ways"
    return _numbers(option, bounds, log=True, why=why)


def _other_whole_number(option: Option, default: int) -> SpaceEntry:
    """Whole numbers without a rule are often no hyperparameters, so they are not searched."""
    high = max(default * _OTHER_WHOLE_NUMBERS, 10)
    low = max(default // _OTHER_WHOLE_NUMBERS, 1) if default > 0 else min(default, 0)
    why = f"{_said(option)}; no rule for this name: uncomment the line to search it"
    made = _numbers(option, (low, high), log=default > 0, why=why)
    return SpaceEntry(*_parts(made), searched=False)


def _parts(made: SpaceEntry) -> tuple[str, Mapping[str, Any], str]:
    return made.name, made.definition, made.why


def _round(number: float) -> float:
    """Two significant digits: bounds need no more, and `0.1 * 3` would show many."""
    return float(f"{number:.2g}")
