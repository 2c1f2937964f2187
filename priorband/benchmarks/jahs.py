"""JAHS-Bench-201: architectures and how to train them, through the published surrogates.

The loss is 100 - validation accuracy, in percent. The surrogates (Bansal and others, 2022) are
pickles: to load one is to run whatever it holds, as you. So they are loaded by their own package
`jahs_bench` alone, never by us, and from a folder that you name for them alone. Load only files
that you trust.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import numpy as np

from priorband.benchmarks.base import Array, Configs, InBatches
from priorband.benchmarks.folder import named_folder
from priorband.benchmarks.jahs_space import CONSTANTS, jahs_fidelity, jahs_space
from priorband.errors import DataError, ExtraError, SpaceError, suggestion

JAHS_FOLDER = "PRIORBAND_JAHS"
"""The environment variable that names the folder of the surrogates. The data folder is not it."""
DATASETS = {
    "cifar10": "JAHS-C10",
    "colorectal_histology": "JAHS-CH",
    "fashion_mnist": "JAHS-FM",
}
"""The datasets, and their names in the paper's tables."""
METRIC = "valid-acc"
FILES = ("model.pkl.gz", "params.pkl.gz", "label_headers.pkl.gz")
"""What a surrogate consists of, in `assembled_surrogates/DATASET/valid-acc`."""
_TRUST = (
    "These files are pickles: loading them runs whatever they hold, so load only what you trust."
)


def jahs_folder(given: str | Path | None = None) -> Path | None:
    """The folder of the surrogates: the one given, else the environment's; None where neither is.

    Naming it says that its files are trusted: loading them runs whatever they hold.
    """
    return named_folder(given, JAHS_FOLDER, "--jahs")


@final
class JAHS(InBatches):
    """One dataset of JAHS-Bench-201, from 3 to 200 epochs.

    `folder` holds `assembled_surrogates`, as `jahs_bench` unpacks it. Its files are pickles:
    loading them runs whatever they hold, so name only a folder that you trust.
    """

    def __init__(self, dataset: str, folder: Path | None = None) -> None:
        if dataset not in DATASETS:
            raise SpaceError(f"Unknown JAHS dataset {dataset!r}. {suggestion(dataset, DATASETS)}")
        self.dataset = dataset
        self.label = DATASETS[dataset]
        self.space = jahs_space()
        self.fidelity = jahs_fidelity()
        self._surrogate = _Surrogate(dataset, _complete(folder, dataset))

    def __repr__(self) -> str:
        return f"JAHS({self.dataset!r})"

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """100 - validation accuracy, in percent, after so many epochs."""
        if not float(fidelity).is_integer():
            raise SpaceError(f"JAHS-Bench-201 takes whole epochs, got {fidelity!r}.")
        asked = {**{name: config[name] for name in self.space.names}, **CONSTANTS}
        return 100.0 - self._surrogate.accuracy(asked, int(fidelity))

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The same of many, one after the other: the package takes one at a time."""
        return np.array([self.evaluate(config, fidelity) for config in configs], dtype=np.float64)


class _Surrogate:
    """The package's own face to one dataset, loaded when first asked."""

    def __init__(self, dataset: str, folder: Path) -> None:
        self.dataset = dataset
        self.folder = folder
        self._benchmark: Any = None

    def __reduce__(self) -> tuple[type["_Surrogate"], tuple[str, Path]]:
        return _Surrogate, (self.dataset, self.folder)

    def accuracy(self, config: dict[str, Any], epochs: int) -> float:
        """The validation accuracy in percent."""
        if self._benchmark is None:
            self._benchmark = _loaded(self.dataset, self.folder)
        answer = self._benchmark(config, nepochs=epochs)
        try:
            return float(answer[epochs][METRIC])
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"The surrogate of {self.dataset} in {self.folder} does not tell {METRIC!r} "
                f"after {epochs} epochs, got {answer!r}."
            ) from None


def _complete(folder: Path | None, dataset: str) -> Path:
    """The folder, where all files of the dataset's surrogate are."""
    if folder is None:
        raise DataError(
            "JAHS-Bench-201 needs the folder of its published surrogates, and none is named. "
            f"Name it with --jahs FOLDER or the environment variable {JAHS_FOLDER}. {_TRUST}"
        )
    for name in FILES:
        path = folder / "assembled_surrogates" / dataset / METRIC / name
        if not path.is_file():
            raise DataError(
                f"JAHS-Bench-201 needs the file {path}, which is not there. Unpack version 1.1.0 "
                f"of the project's assembled_surrogates into the folder. {_TRUST}"
            )
    return folder


def _loaded(dataset: str, folder: Path) -> Any:
    try:
        import jahs_bench
    except ImportError as error:
        raise ExtraError(
            f"JAHS-Bench-201 needs the package jahs_bench, which cannot be imported ({error}). "
            f"Install it with: pip install jahs-bench. {_TRUST}"
        ) from None
    try:
        return jahs_bench.Benchmark(
            task=dataset, kind="surrogate", download=False, save_dir=folder, metrics=[METRIC]
        )
    except Exception as error:
        raise DataError(
            f"jahs_bench could not load the surrogate of {dataset} in {folder}: {error!r}."
        ) from None
