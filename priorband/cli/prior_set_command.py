"""`priorband prior set`: change the prior of a study, also while workers run."""

import argparse
from collections.abc import Iterator
from typing import Any

from priorband.cli.argument_types import STUDY, Command, refuse_address
from priorband.display.text import printable
from priorband.durable.open import open_study
from priorband.durable.study import DurableStudy
from priorband.errors import ArgumentError
from priorband.space.beliefs import as_belief
from priorband.space.densities import Choices, Density, TruncatedNormal
from priorband.space.edited_prior import whole_mode, with_beliefs
from priorband.space.prior import Independent, Prior, prior, same_prior, says_nothing
from priorband.study_file.prior_section import beliefs_in_file, beliefs_in_words
from priorband.study_file.read import read_study_file


def grammar(command: Command) -> None:
    """Add the parser of the command."""
    change = command("prior set", "change the prior of a study, also while workers run")
    change.add_argument("study", metavar="STUDY", help=STUDY)
    change.add_argument(
        "beliefs",
        metavar="NAME=VALUE",
        nargs="*",
        type=_belief,
        help="a parameter and the value that you expect to be best, such as lr=1e-3, or a belief "
        "as in study files, such as lr='{ normal = 1e-3, sigma = 0.1 }'. Other parameters keep "
        "their priors",
    )
    change.add_argument(
        "--file",
        metavar="FILE",
        help="a TOML file with a section [prior], or a study file. It replaces the whole prior: "
        "parameters that it leaves out have none",
    )
    change.add_argument(
        "--confidence",
        metavar="WORD",
        choices=("low", "medium", "high"),
        help="how sure you are of plain values: low, medium or high (default: medium)",
    )
    change.add_argument(
        "--queue-mode",
        action="store_true",
        help="put the configuration that the new prior finds most likely next in the queue",
    )
    change.set_defaults(command=_set_prior)


def _belief(text: str) -> str:
    refuse_address(text)
    name, equals, value = text.partition("=")
    if not (name.strip() and equals and value.strip()):
        raise argparse.ArgumentTypeError(
            f"it must be a name and a value, such as lr=1e-3, got {text!r}"
        )
    return text


def _set_prior(args: argparse.Namespace) -> int:
    if bool(args.beliefs) == bool(args.file):
        raise ArgumentError(
            "`priorband prior set` takes either NAME=VALUE, such as lr=1e-3, for some parameters, "
            "or --file FILE for the whole prior."
        )
    with open_study(args.study) as study:
        new, before = _new_prior(args, study), study.prior
        changed = not same_prior(new, before)
        study.set_prior(new)
        print(
            *_report(study, before) if changed else ["The study has this prior already."], sep="\n"
        )
        if args.queue_mode:
            study.queue(study.prior.mode)
            print("Its mode is queued, and is tried next.")
    return 0


def _new_prior(args: argparse.Namespace, study: DurableStudy) -> Independent:
    word = args.confidence or "medium"
    if args.beliefs:
        current = study.prior
        if not isinstance(current, Independent):
            raise ArgumentError(
                "The prior of this study is of a class of its own, so no part of it can be "
                "changed: give all of it with --file."
            )
        return with_beliefs(current, beliefs_in_words(args.beliefs, study.space), word)
    beliefs = beliefs_in_file(args.file, study.space)
    if beliefs is None:
        beliefs = _beliefs_of_parameters(args.file)
    return prior(study.space, beliefs, word)


def _beliefs_of_parameters(path: str) -> dict[str, Any]:
    """The priors of single parameters in a study file."""
    searched = read_study_file(path).space.searched
    return {name: as_belief(p.prior, p.confidence) for name, p in searched.items()}


def _report(study: DurableStudy, before: Prior) -> Iterator[str]:
    asked = study.state.history.prior_changes[-1].asked
    yield f"The prior of {printable(study.where)} is changed, for trials from {asked} on."
    old, new = _shown_beliefs(before), _shown_beliefs(study.prior)
    for name, shown in new.items():
        was = f", was {old[name]}" if old.get(name, shown) != shown else ""
        yield f"  {printable(name)}: {shown}{was}"


def _shown_beliefs(belief: Prior) -> dict[str, str]:
    """What a prior expects of each parameter, as text."""
    if not isinstance(belief, Independent):
        return {name: printable(repr(value)) for name, value in belief.mode.items()}
    mode = whole_mode(belief)
    return {
        name: "no prior" if says_nothing(density) else _density_text(mode[name], density)
        for name, density in zip(belief.space.names, belief.densities, strict=True)
    }


def _density_text(likely: Any, density: Density) -> str:
    """The value that is most likely, and how sure that is."""
    value = printable(repr(likely))
    if isinstance(density, TruncatedNormal):
        return f"{value} (width {density.sigma:g})"
    if isinstance(density, Choices):
        return f"{value} (probability {max(density.probabilities):.2g})"
    return f"{value} ({type(density).__name__})"
