"""Options of click, typer, tyro, fire, and dataclasses."""

import pytest
from script_texts import draft_of, source

from priorband.init_study.option import Option
from priorband.init_study.read_script import script_options

CLICK = """
import click

@click.command()
@click.argument("data", type=click.Path(exists=True))
@click.option("-e", "--epochs", default=30, help="passes over the data")
@click.option("--lr", "-l", type=float, default=0.1, show_default=True)
@click.option("--dropout", type=click.FloatRange(0, 0.9), default=0.5)
@click.option("--opt", type=click.Choice(["sgd", "adam"]), default="sgd")
@click.option("--nesterov/--no-nesterov", default=True)
@click.option("--gpu", is_flag=True)
@click.option("--milestones", multiple=True, type=int)
def main(data, epochs, lr, dropout, opt, nesterov, gpu, milestones):
    click.echo(f"Validation accuracy: {0.5:.3f}")
"""
TYPER = """
from enum import Enum
from typing import Annotated
import typer

app = typer.Typer()

class Optimizer(str, Enum):
    sgd = "sgd"
    adam = "adam"

@app.command()
def train(
    data: str,
    learning_rate: Annotated[float, typer.Option(help="step", min=1e-5, max=1.0)] = 0.01,
    hidden_size: int = typer.Option(128, "--hidden"),
    optimizer: Optimizer = Optimizer.adam,
    epochs: int = 9,
    nesterov: bool = False,
):
    typer.echo(f"val_loss={1}")

app()
"""
HF = """
from dataclasses import dataclass, field
from typing import Literal, Optional
from transformers import HfArgumentParser, TrainingArguments

@dataclass
class Base:
    dropout: float = 0.1

@dataclass
class ModelArguments(Base):
    model_name_or_path: str = field(metadata={"help": "which model"})
    learning_rate: Optional[float] = field(default=5e-5, metadata={"help": "for AdamW"})
    lr_scheduler: Literal["linear", "cosine"] = "linear"
    num_train_epochs: float = 3.0
    layers: "int | None" = None
    schedulers: list[str] = field(default_factory=list)

parser = HfArgumentParser((ModelArguments, TrainingArguments))
"""
TYRO = """
import dataclasses, tyro

@dataclasses.dataclass
class OptimizerConfig:
    lr: float = 1e-3
    beta1: float = 0.9

@dataclasses.dataclass
class Args:
    optimizer: OptimizerConfig = dataclasses.field(default_factory=OptimizerConfig)
    use_bias: bool = True
    total_timesteps: int = 100_000

args = tyro.cli(Args)
"""


def options(text: str) -> dict[str, Option]:
    """The options of a script by name."""
    return {option.name: option for option in script_options(source(text)).options}


def test_click_options_are_read() -> None:
    found = options(CLICK)
    assert found["epochs"] == Option(
        "epochs", ("--epochs",), "integer", 30, help="passes over the data"
    )
    assert found["dropout"] == Option("dropout", ("--dropout",), "float", 0.5, low=0, high=0.9)
    assert found["opt"].choices == ("sgd", "adam") and found["opt"].default == "sgd"
    assert found["nesterov"].flags == ("--nesterov", "--no-nesterov")
    assert [found[name].kind for name in ("data", "gpu", "milestones")] == ["path", "flag", "list"]
    assert found["data"].required and not found["lr"].required


def test_a_switch_is_passed_as_itself() -> None:
    draft = draft_of(CLICK)
    assert draft.command == (
        *("{python}", "train.py", "{args}", "DATA", "--epochs", "{epochs}", "{nesterov}"),
    )
    [nesterov] = [made for made in draft.entries if made.name == "nesterov"]
    assert nesterov.definition == {
        "choices": ["--nesterov", "--no-nesterov"],
        "prior": "--nesterov",
    }
    assert draft.metric.value == {
        "name": "validation_accuracy",
        "goal": "maximize",
        "pattern": draft.metric.value and draft.metric.value["pattern"],
    }


def test_typer_options_are_read() -> None:
    found = options(TYPER)
    assert found["learning-rate"] == Option(
        *("learning-rate", ("--learning-rate",), "float", 0.01),
        low=1e-5,
        high=1.0,
        help="step",
    )
    assert found["hidden"].default == 128 and found["hidden"].kind == "integer"
    assert found["optimizer"].choices == ("sgd", "adam")
    assert found["optimizer"].default == "adam"
    assert found["nesterov"].kind == "switch"
    assert found["data"].flags == () and found["data"].required


def test_a_single_typer_command_is_the_whole_program_and_two_are_subcommands() -> None:
    assert draft_of(TYPER).command[:3] == ("{python}", "train.py", "{args}")
    two = TYPER.replace("app()\n", "@app.command()\ndef test(path: str = ''):\n    pass\n")
    assert draft_of(two).command[:3] == ("{python}", "train.py", "train")


def test_fields_of_dataclasses_are_read_with_their_bases() -> None:
    found = options(HF)
    assert list(found)[0] == "dropout"
    assert found["learning_rate"] == Option(
        "learning_rate", ("--learning_rate",), "float", 5e-5, help="for AdamW"
    )
    assert found["model_name_or_path"].required
    assert found["lr_scheduler"].choices == ("linear", "cosine")
    assert found["layers"].kind == "integer" and found["schedulers"].kind == "list"
    [unclear] = script_options(source(HF)).unclear
    assert unclear == "the fields of `TrainingArguments` are defined elsewhere"


def test_a_training_length_may_be_a_float() -> None:
    assert draft_of(HF).fidelity.value == {"name": "num_train_epochs", "min": 1, "max": 3}


def test_nested_dataclasses_have_dotted_names() -> None:
    found = options(TYRO)
    assert found["optimizer.lr"].flags == ("--optimizer.lr",)
    assert found["use-bias"].flags == ("--use-bias", "--no-use-bias")
    assert draft_of(TYRO).fidelity.value == {
        "name": "total_timesteps",
        "min": 3703,
        "max": 100_000,
    }


@pytest.mark.parametrize("starter", ["fire.Fire(train)", "jsonargparse.CLI(train)"])
def test_parameters_of_a_function_are_options(starter: str) -> None:
    text = f"import fire\ndef train(lr: float = 0.1, n_layers=3, *, epochs=20): pass\n{starter}\n"
    found = options(text)
    assert [option.kind for option in found.values()] == ["float", "integer", "integer"]
    assert found["n_layers"].flags == ("--n_layers",)
