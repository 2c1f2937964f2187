"""Scripts for these tests, in the style of real ones."""

import ast
from pathlib import Path

from priorband.init_study.draft import Draft
from priorband.init_study.read_script import script_options
from priorband.init_study.script_draft import ScriptSource, script_draft

ARGPARSE = """
import argparse

OPTIMIZERS = {"sgd": 1, "adam": 2}
WIDTHS = [32, 64, 128]

def get_parser():
    parser = argparse.ArgumentParser(description="train")
    parser.add_argument("data", help="path to dataset")
    group = parser.add_argument_group("optimisation")
    group.add_argument("-l", "--lr", "--learning-rate", type=float, default=1e-3)
    group.add_argument("--weight-decay", type=float, default=0.0)
    group.add_argument("--optimizer", choices=OPTIMIZERS.keys(), default="adam")
    group.add_argument("--width", type=int, choices=WIDTHS, default=64)
    parser.add_argument("--batch-size", default=2 ** 7, type=int)
    parser.add_argument("--nesterov", action="store_true")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--betas", type=float, nargs=2, default=(0.9, 0.999))
    parser.add_argument("--gamma", default=0.9)
    parser.add_argument("--epochs", type=int, default=90, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--output-dir", default="runs")
    parser.add_argument("--resume", default="", help="path to latest checkpoint")
    return parser

def main():
    args = get_parser().parse_args()
    for epoch in range(args.epochs):
        print(f"Epoch {epoch}: train loss: {1:.3f} | val_loss={0.5:.4f}, val acc: {97:.1f}")
"""


def source(text: str, word: str = "train.py") -> ScriptSource:
    """A script of this text."""
    return ScriptSource(Path(word), word, ast.parse(text), text)


def draft_of(text: str, word: str = "train.py", fixed: tuple[str, ...] = ()) -> Draft:
    """The draft for a script of this text."""
    script = source(text, word)
    return script_draft(script, script_options(script), fixed)
