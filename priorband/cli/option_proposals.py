"""Options that people know from other tools: what to write here instead."""

_MEANT = {
    "--trials": "n-trials num-samples num-trials max-trials",
    "--hours": "timeout time-budget time-limit walltime",
    "--budget": "trainings",
    "--workers": "n-jobs jobs n-workers num-workers max-concurrent parallel processes",
    "--maximize": "direction mode goal maximise",
    "--gpus-per-trial": "gpus num-gpus devices",
    "--seed": "random-state random-seed",
    "--space": "config params parameters search-space",
    "--fidelity": "epochs max-epochs steps min-budget max-budget",
    "--method": "sampler pruner scheduler algorithm optimizer search",
    "--objective": "function train script",
    "--start": "fresh-process no-fork in-process",
    "--quiet": "silent no-progress show verbose verbosity",
    "STUDY": "study study-name storage name path output out",
}


def meant_option(name: str, available: list[str]) -> str:
    """The option that does what one of another tool does; empty if there is none.

    >>> meant_option("--n-jobs", ["--workers"])
    '--workers'
    """
    word = name.lstrip("-").replace("_", "-")
    for ours, others in _MEANT.items():
        if word in others.split() and (ours in available or ours == "STUDY"):
            return ours
    return ""
