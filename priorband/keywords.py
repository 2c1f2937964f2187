"""Keyword arguments that people know from other libraries: what to write here instead.

Optuna, Ray Tune, NePS, SMAC3, Syne Tune and scikit-learn have other names for the same things. Each
is answered with the argument that does it here.
"""

import functools
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ELSEWHERE: dict[str, str] = {
    "budget": "n_trials num_samples num_trials max_trials trials max_evals n_calls n_iter "
    "max_evaluations_total evaluations iterations timeout time_budget time_budget_s walltime_limit "
    "max_time hours cost max_cost_total trainings",
    "workers": "n_jobs max_concurrent max_concurrent_trials n_workers num_workers concurrency jobs "
    "parallel n_parallel processes",
    "maximize": "direction directions mode goal minimize maximise",
    "objective": "func function fn f trainable train_fn target run_pipeline evaluate_pipeline "
    "metric",
    "study": "name study_name storage path where experiment_name local_dir log_dir storage_path "
    "root_directory run_dir output_dir output_directory directory",
    "where": "study name study_name storage path local_dir log_dir storage_path root_directory",
    "method": "sampler pruner scheduler search_alg searcher algorithm algo optimizer strategy",
    "seed": "random_state random_seed rng",
    "space": "config param_space search_space configspace pipeline_space parameters params",
    "gpus_per_trial": "gpus num_gpus gpus_per_worker resources_per_trial devices",
    "show": "verbose verbosity show_progress_bar progress progress_bar quiet silent",
    "fidelity": "epochs max_epochs num_epochs n_epochs max_t max_budget min_budget max_resource "
    "min_resource resource",
    "retries": "catch fail_fast max_failures raise_on_failed_trial ignore_errors",
    "trial_seconds": "trial_timeout timeout_per_trial trial_walltime_limit",
}
"""The names that other libraries use, by the argument that does the same here."""

_PROPOSALS: dict[str, str] = {
    "budget": "Write budget=12 for 12 full trainings, or budget=pb.Budget(trials=100), or "
    "budget=pb.Budget(hours=8)",
    "workers": "Write workers=4 to run 4 trials at the same time",
    "maximize": "Losses are minimised; write maximize=True if higher values are better",
    "objective": "The objective is the first argument: a function that is given a trial and "
    "returns its loss, or a dict with 'loss' and other metrics",
    "study": "Write study='runs/resnet' for the folder in which the study is kept; one that exists "
    "is resumed",
    "where": "The first argument is the study's folder, such as 'runs/resnet'",
    "method": "Write method='asha'; `priorband methods` lists all methods, which have their own "
    "samplers and schedulers",
    "seed": "Write seed=0",
    "space": "Write space=pb.Space({'lr': pb.Float(1e-5, 1e-1, log=True)})",
    "gpus_per_trial": "Write gpus_per_trial=1",
    "show": "Write show='quiet' to print nothing, or show='plain' for lines instead of a live view",
    "fidelity": "Write fidelity=pb.Fidelity('epochs', 1, 81): from the shortest training that says "
    "something to a full one",
    "retries": "Failed trials do not stop a study; write retries={'raised': 2} for how many "
    "attempts a trial gets",
    "trial_seconds": "Write trial_seconds=3600",
}


def with_proposals(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function answer an unknown keyword argument with what to write instead.

    >>> with_proposals(lambda budget: budget)(n_trials=100)
    Traceback (most recent call last):
    ...
    TypeError: `<lambda>` takes no argument `n_trials`. Write budget=12 for 12 full trainings, or \
budget=pb.Budget(trials=100), or budget=pb.Budget(hours=8).
    """
    known = tuple(name for name in inspect.signature(function).parameters if name != "self")

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        for name in options:
            if name not in known:
                shown = function.__qualname__.removesuffix(".__init__")
                raise TypeError(f"`{shown}` takes no argument `{name}`. {_proposal(name, known)}")
        return function(*args, **options)

    return checked


def _proposal(name: str, known: tuple[str, ...]) -> str:
    """What to write instead of an argument that a function does not take."""
    meant = [ours for ours in _ELSEWHERE if name.lower() in _ELSEWHERE[ours].split()]
    for ours in meant:
        if ours in known:
            return f"{_PROPOSALS[ours]}."
    close = get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    if close:
        return f"Did you mean `{close[0]}`?"
    if meant:
        return f"In `pb.tune` it is called `{meant[0]}`. {_PROPOSALS[meant[0]]}."
    return f"It takes {', '.join(known)}."
