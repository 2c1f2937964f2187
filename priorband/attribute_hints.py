"""What to use instead of names that people know from other libraries."""

from collections.abc import Mapping

_BEST = "Use `study.best`, which has `config`, `loss`, `fidelity` and `trial`"
OF_STUDIES: Mapping[str, str] = {
    "prune": "Nothing has to be pruned: the scheduler stops weak trials, since it promotes only "
    "the best of each rung. To end a trial without a result, call `study.fail(trial)`",
    "optimize": "Call `priorband.tune(objective, space, fidelity, budget=12)`, or ask and tell: "
    "`trial = study.ask()`, then `study.tell(trial, loss)`",
    "best_trial": _BEST,
    "best_trials": _BEST,
    "best_params": f"{_BEST}: `study.best.config`",
    "best_value": f"{_BEST}: `study.best.loss`, which is the negative of the value if the study "
    "maximises",
    "enqueue_trial": "Use `study.queue(config)`, or `study.queue(config, fidelity)`",
    "add_trial": "Use `study.add(config, loss, fidelity)`",
    "get_trials": "Use `study.trials()`",
    "trials_dataframe": "Use `study.trials().to_frame()`",
    "stop": "A study ends with its budget; to stop early, do not ask for more trials",
    "direction": "Use `study.maximize`",
}
"""By name: what to use instead on a study. Each is a sentence without its full stop."""

_SUGGEST = (
    "The search space is declared once, such as `priorband.Space(lr=priorband.Float(1e-5, 1e-1, "
    'log=True))`, and a trial has its values: `trial.config["lr"]`'
)
OF_TRIALS: Mapping[str, str] = {
    **{f"suggest_{kind}": _SUGGEST for kind in ("float", "int", "categorical", "uniform")},
    **{f"suggest_{kind}": _SUGGEST for kind in ("loguniform", "discrete_uniform")},
    "params": "Use `trial.config`",
    "number": "Use `trial.id`",
    "should_prune": "Nothing has to be pruned: train up to `trial.fidelity`, and the scheduler "
    "promotes only the best trials of each rung",
    "set_user_attr": "Return a dict from the objective, `{'loss': loss, 'accuracy': accuracy}`, or "
    "call `study.tell(trial, loss, accuracy=accuracy)`",
}
"""By name: what to use instead on a trial. Each is a sentence without its full stop."""


_TUNE = "Call `priorband.tune(objective, space, fidelity, budget=12)`"
OF_PACKAGE: Mapping[str, str] = {
    "create_study": f"{_TUNE}, or `priorband.open_study(folder, space, fidelity)` to ask and tell",
    "load_study": "Use `priorband.open_study(folder)`",
    "minimize": _TUNE,
    "fmin": _TUNE,
    "run": _TUNE,
    "optimize": _TUNE,
    "Tuner": _TUNE,
    "TrialPruned": "Nothing has to be pruned: the scheduler promotes only the best trials",
    "Int": "Use `priorband.Integer`",
    "Choice": "Use `priorband.Categorical`",
}
"""By name: what to use instead in the package. Each is a sentence without its full stop."""


def no_attribute(of: object, name: str, hints: Mapping[str, str]) -> AttributeError:
    """The error for an attribute that does not exist, with what to use instead if that is known.

    >>> print(no_attribute(object(), "prune", {"prune": "Call `fail`"}))
    'object' object has no attribute 'prune'. Call `fail`.
    """
    text = f"{type(of).__name__!r} object has no attribute {name!r}"
    if name not in hints:
        return AttributeError(text, name=name, obj=of)
    return AttributeError(f"{text}. {hints[name]}.", name=name, obj=None)  # Python adds no other
