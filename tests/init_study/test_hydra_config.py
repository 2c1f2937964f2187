"""Options of scripts that Hydra configures."""

from pathlib import Path

import pytest

from priorband.init_study.draft import Draft
from priorband.init_study.read_script import script_options, script_source
from priorband.init_study.script_draft import script_draft

pytest.importorskip("yaml")

SCRIPT = """
import hydra

@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    print(f"val_loss={cfg.optimizer.lr}")

main()
"""
CONFIG = """
defaults:
  - _self_
  - optimizer: adam
  - missing: one
  - override hydra/job_logging: none
model: {hidden_size: 64, dropout: 0.1, norm: true}
epochs: 30
seed: 1
output_dir: ${hydra:run.dir}
data: ???
hydra: {run: {dir: x}}
"""


def drafted(folder: Path) -> Draft:
    """The draft for a script with this configuration."""
    (folder / "conf" / "optimizer").mkdir(parents=True)
    (folder / "train.py").write_text(SCRIPT)
    (folder / "conf" / "config.yaml").write_text(CONFIG)
    (folder / "conf" / "optimizer" / "adam.yaml").write_text("_target_: A\nlr: 1e-3\nbeta1: 0.9\n")
    script = script_source(folder / "train.py", "train.py")
    return script_draft(script, script_options(script))


def test_settings_become_overrides_with_dotted_names(tmp_path: Path) -> None:
    draft = drafted(tmp_path)
    assert draft.command == (
        *("{python}", "train.py", "{overrides}", "epochs={epochs}", "seed={seed}", "data=DATA"),
    )
    assert {made.name: dict(made.definition) for made in draft.entries} == {
        "optimizer.lr": {"float": [1e-5, 0.1], "log": True, "prior": 1e-3},
        "optimizer.beta1": {"float": [0.5, 0.99], "prior": 0.9},
        "model.hidden_size": {"ordinal": [16, 32, 64, 128, 256], "prior": 64},
        "model.dropout": {"float": [0.0, 0.7], "prior": 0.1},
        "model.norm": {"choices": [True, False], "prior": True},
    }
    assert draft.losses == ("Not read: one.yaml of its defaults is not beside the configuration.",)


def test_a_configuration_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    found = script_options(script_source(tmp_path / "train.py", "train.py"))
    assert found.options == () and "config.yaml, is not a file" in found.unclear[0]
