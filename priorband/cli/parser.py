"""The parser of the command line, with suggestions for mistyped commands and options."""

import argparse
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, final

import priorband
from priorband.cli import (
    bench_arguments,
    dashboard_command,
    export_command,
    init_command,
    plan_command,
    plot_command,
    prior_set_command,
    prior_show_command,
    repair_commands,
    report_command,
    run_commands,
    show_command,
    status_commands,
    study_files,
    why_command,
)
from priorband.cli.argument_types import STUDY, refuse_address, without_secrets
from priorband.cli.option_proposals import meant_option
from priorband.display.text import paragraphs

_STUDIES = ("study", "studies", "new")
"""The arguments that may be addresses."""
_INVALID_CHOICE = re.compile(r"(.*)invalid choice: '(.*?)' \(choose from (.*)\)")
_ARGUMENT = re.compile(r"^argument ([^\s:]+)(: it\b)?")


@final
class Parser(argparse.ArgumentParser):
    """A parser that suggests what may have been meant."""

    words: Sequence[str] = ()
    """All words of the command line."""

    def error(self, message: str) -> NoReturn:
        """Print what was wrong, and exit with code 2."""
        invalid = _INVALID_CHOICE.fullmatch(message)
        if invalid:
            message = _about_choice(*invalid.groups())
        message = _ARGUMENT.sub(r"\1", self._about_missing(message))
        if not message.endswith((".", "?")):
            message += "."
        text = paragraphs(f"{self.prog}: {without_secrets(message, self.words)}")
        self.exit(2, f"{text}\nRun `{self.prog} --help` to see what is available.\n")

    def _about_missing(self, message: str) -> str:
        """What is missing or not expected, in our own words; other messages as they are."""
        missing = message.removeprefix("the following arguments are required: ")
        if message.startswith("unrecognized arguments: "):
            more = message.partition(": ")[2]
            return f"There are too many arguments: {more!r}. Put a value with spaces in quotes."
        if missing == message:
            return message
        names = missing.split(", ")
        known = {name: action for action in self._actions for name in _names(action)}
        about = [f"{name} is missing{_explained(known.get(name))}" for name in names]
        return ". ".join(about) + "."

    @property
    def options(self) -> list[str]:
        """The names of the options of this parser."""
        return list(self._option_string_actions)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; exit with code 2 if they are wrong."""
    top, commands = _parsers()
    for parser in (top, *commands.values()):
        parser.words = argv
    path = [argument for argument in argv if not argument.startswith("-")][:2]
    command = commands.get(" ".join(path)) or commands.get(" ".join(path[:1]))
    if command is not None or not path:
        _refuse_unknown_options(command or top, argv)
    own, words = list(argv), []
    if command is not None and command.get_default("takes_words") and "--" in own:
        own, words = own[: own.index("--")], own[own.index("--") + 1 :]
    args = top.parse_args(own if command is None else _options_first(command, own))
    args.words = words
    _refuse_addresses(command or top, args)
    args.argv = list(argv)
    return args


def _options_first(parser: Parser, argv: Sequence[str]) -> list[str]:
    """The words with the options right after the command, where it takes any number of arguments.

    argparse takes all of these at once, and so would refuse those that follow an option.
    """
    if not any(each.nargs == "*" and not each.option_strings for each in parser._actions):
        return list(argv)
    end = argv.index("--") if "--" in argv else len(argv)
    words, options, waiting = list[str](), list[str](), list(argv[:end])
    while waiting:
        word = waiting.pop(0)
        option = parser._option_string_actions.get(word.partition("=")[0])
        taken = words if option is None else options
        taken.append(word)
        if option is not None and option.nargs is None and "=" not in word:
            options += waiting[:1]
            del waiting[:1]
    command = len(parser.prog.split()) - 1
    return [*words[:command], *options, *words[command:], *argv[end:]]


def _refuse_addresses(parser: Parser, args: argparse.Namespace) -> None:
    """Exit if an option is the address of a study: it would be shown in messages."""
    for name, value in vars(args).items():
        for item in value if isinstance(value, list) else [value]:
            if name not in _STUDIES and isinstance(item, str | Path):
                try:
                    refuse_address(str(item))
                except argparse.ArgumentTypeError as error:
                    parser.error(f"argument {name}: {error}")


def _refuse_unknown_options(parser: Parser, argv: Sequence[str]) -> None:
    """Exit on a mistyped option, before argparse complains about a missing one instead."""
    for argument in argv:
        if argument == "--":
            return
        name = argument.partition("=")[0]
        if name.startswith("--") and name not in parser.options:
            hint = _option_hint(name, parser.options)
            if parser.get_default("takes_words"):
                hint += f" If it is one of the script's own, write it after --: -- {name}"
            parser.error(f"There is no option {name}.{hint}")


def _about_choice(argument: str, given: str, listed: str) -> str:
    """What is said about a word that is none of those that an argument can be."""
    known = listed.replace("'", "").split(", ")
    hint = _suggestion(given, known)
    if argument.startswith("argument COMMAND"):
        return f"There is no command '{given}'.{hint}"
    return f"{argument}it must be one of {', '.join(known)}, got '{given}'.{hint}"


def _names(action: argparse.Action) -> list[str]:
    options = action.option_strings
    return [*options, "/".join(options), str(action.metavar), action.dest]


def _explained(action: argparse.Action | None) -> str:
    """What an argument is, from the first sentence of its help."""
    if isinstance(action, argparse._SubParsersAction):
        return ", one of " + ", ".join(action.choices)
    if action is None or not action.help:
        return ""
    form = f" {action.metavar}" if action.option_strings and action.metavar else ""
    about = action.help.split(". ")[0].split(" (default")[0]
    return f", as in {action.option_strings[0]}{form}: {about}" if form else f": {about}"


def _option_hint(name: str, available: list[str]) -> str:
    meant = meant_option(name, available)
    if meant == "STUDY":
        return " The study is the first argument: " + STUDY.split(". ")[0] + "."
    return f" Did you mean {meant}?" if meant else _suggestion(name, available)


def _suggestion(name: str, available: Iterable[str]) -> str:
    close = get_close_matches(name, list(available), n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def _parsers() -> tuple[Parser, dict[str, Parser]]:
    """The main parser, and the parsers of all commands by name, such as `journal check`."""
    top = Parser(
        prog="priorband",
        description="Hyperparameter optimisation with expert priors and cheap fidelities.",
        epilog=f"STUDY is {STUDY}.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"priorband {priorband.__version__}")
    top_commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    groups: dict[str, Any] = {}
    parsers: dict[str, Parser] = {}

    def command(path: str, summary: str) -> argparse.ArgumentParser:
        *group, name = path.split()
        siblings: Any = groups[group[0]] if group else top_commands
        parser: Parser = siblings.add_parser(
            name, help=summary, description=summary, allow_abbrev=False
        )
        parsers[path] = parser
        return parser

    init_command.grammar(command)
    run_commands.grammar(command)
    plan_command.grammar(command)
    status_commands.grammar(command)
    show_command.grammar(command)
    dashboard_command.grammar(command)
    report_command.grammar(command)
    why_command.grammar(command)
    study_files.grammar(command)
    repair_commands.grammar(command)
    journal = command("journal", "check a study for damage, or salvage what is intact")
    groups["journal"] = journal.add_subparsers(metavar="COMMAND", required=True)
    repair_commands.journal_grammar(command)
    prior = command("prior", "show whether the prior of a study helped, or change it")
    groups["prior"] = prior.add_subparsers(metavar="COMMAND", required=True)
    prior_show_command.grammar(command)
    prior_set_command.grammar(command)
    export_command.grammar(command)
    plot_command.grammar(command)
    bench = command("bench", "run the paper's evaluation or your own, and report the results")
    groups["bench"] = bench.add_subparsers(metavar="COMMAND", required=True)
    bench_arguments.grammar(command)
    return top, parsers
