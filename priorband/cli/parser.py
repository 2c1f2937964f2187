"""The grammar of the command line, and what it says when words do not fit."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, final

import priorband
from priorband.cli import (
    bench_arguments,
    export_command,
    repair_commands,
    run_commands,
    status_commands,
)
from priorband.display.text import paragraphs

_CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)")


@final
class Parser(argparse.ArgumentParser):
    """A parser that suggests what may have been meant."""

    def error(self, message: str) -> NoReturn:
        """Say what was wrong, and end with code 2."""
        found = _CHOICE.search(message)
        if found:
            meant = _meant(found[1], found[2].replace("'", "").split(", "))
            command = message.startswith("argument COMMAND")
            message = f"There is no '{found[1]}' here.{meant}" if command else message + "." + meant
        said = paragraphs(f"{self.prog}: {message}")
        self.exit(2, f"{said}\n`{self.prog} --help` lists what there is.\n")

    @property
    def options(self) -> dict[str, argparse.Action]:
        """What this parser calls its options."""
        return dict(self._option_string_actions)


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What the words mean; wrong ones end the program with code 2."""
    top, leaves = _grammar()
    path = [word for word in words if not word.startswith("-")][:2]
    leaf = leaves.get(" ".join(path)) or leaves.get(" ".join(path[:1]))
    if leaf is not None or not path:
        _refuse_unknown(leaf or top, words)
    args = top.parse_args(list(words))
    args.words = list(words)
    return args


def _refuse_unknown(parser: Parser, words: Sequence[str]) -> None:
    """Name a mistyped option before another is missed."""
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name.startswith("--") and name not in parser.options:
            parser.error(f"There is no option {name}.{_meant(name, parser.options)}")


def _meant(word: str, known: Sequence[str] | dict[str, argparse.Action]) -> str:
    close = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]}?" if close else ""


def _grammar() -> tuple[Parser, dict[str, Parser]]:
    """The parser, and those of all commands by their words."""
    top = Parser(
        prog="priorband",
        description="Hyperparameter optimisation with expert priors and cheap proxies.",
        epilog="STUDY is a folder, such as runs/resnet, or postgresql://host/database#resnet.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"priorband {priorband.__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    groups: dict[str, Any] = {}
    leaves: dict[str, Parser] = {}

    def command(path: str, does: str) -> argparse.ArgumentParser:
        *group, name = path.split()
        where: Any = groups[group[0]] if group else commands
        made: Parser = where.add_parser(name, help=does, description=does, allow_abbrev=False)
        leaves[path] = made
        return made

    run_commands.grammar(command)
    status_commands.grammar(command)
    repair_commands.grammar(command)
    journal = command("journal", "look after the records of a damaged study")
    groups["journal"] = journal.add_subparsers(metavar="COMMAND", required=True)
    repair_commands.journal_grammar(command)
    export_command.grammar(command)
    bench = command("bench", "run the paper's evaluation, or one's own, and report it")
    groups["bench"] = bench.add_subparsers(metavar="COMMAND", required=True)
    bench_arguments.grammar(command)
    return top, leaves
