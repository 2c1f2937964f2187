"""JAHS-Bench-201: network architectures and their training, through the published surrogates.

The loss is 100 - validation accuracy, in percent. The surrogates (Bansal and others, 2022) are
pickles, and loading a pickle can run any code. So only their own package, `jahs_bench`, loads them,
and only from a folder that you name for this purpose. Load only files that you trust.
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
"""The environment variable that names the folder with the surrogates; not the data folder."""
DATASETS = {
    "cifar10": "JAHS-C10",
    "colorectal_histology": "JAHS-CH",
    "fashion_mnist": "JAHS-FM",
}
"""The datasets and their names in the paper's tables."""
METRIC = "valid-acc"
FILES = ("model.pkl.gz", "params.pkl.gz", "label_headers.pkl.gz")
"""The files of a surrogate, in `assembled_surrogates/DATASET/valid-acc`."""
_TRUST_WARNING = (
    "These files are pickles: loading them can run any code, so load only files you trust."
)


def jahs_folder(folder: str | Path | None = None) -> Path | None:
    """The folder with the surrogates: `folder`, else the one in the environment, or None.

    Name only a folder whose files you trust: loading them can run any code.
    """
    return named_folder(folder, JAHS_FOLDER, "--jahs")


@final
class JAHS(InBatches):
    """One dataset of JAHS-Bench-201, from 3 to 200 epochs.

    The loss is 100 - validation accuracy, in percent. Needs the package `jahs_bench`.

    Args:
        dataset: "cifar10", "colorectal_histology" or "fashion_mnist".
        folder: The folder that holds `assembled_surrogates`, as `jahs_bench` unpacks it. Its files
            are pickles, and loading them can run any code: name only a folder that you trust.

    Raises:
        SpaceError: If there is no such dataset.
        DataError: If a file of the surrogate is missing.

    Example:
        >>> bench = JAHS("cifar10", "path/to/jahs")  # doctest: +SKIP
    """

    def __init__(self, dataset: str, folder: str | Path | None = None) -> None:
        if dataset not in DATASETS:
            raise SpaceError(f"Unknown JAHS dataset {dataset!r}. {suggestion(dataset, DATASETS)}")
        self.dataset = dataset
        self.label = DATASETS[dataset]
        self.space = jahs_space()
        self.fidelity = jahs_fidelity()
        self._surrogate = _Surrogate(dataset, _checked_folder(folder, dataset))

    def __repr__(self) -> str:
        return f"JAHS({self.dataset!r})"

    def evaluate(self, config: Mapping[str, Any], fidelity: float) -> float:
        """100 - validation accuracy, in percent, after `fidelity` epochs."""
        if not float(fidelity).is_integer():
            raise SpaceError(f"`fidelity` must be a whole number of epochs, got {fidelity!r}.")
        complete = {**{name: config[name] for name in self.space.names}, **CONSTANTS}
        return 100.0 - self._surrogate.accuracy(complete, int(fidelity))

    def evaluate_many(self, configs: Configs, fidelity: float) -> Array:
        """The losses of several configurations, one by one: `jahs_bench` takes no batches."""
        return np.array([self.evaluate(config, fidelity) for config in configs], dtype=np.float64)


class _Surrogate:
    """The surrogate of one dataset, which `jahs_bench` loads when it is first evaluated."""

    def __init__(self, dataset: str, folder: Path) -> None:
        self.dataset = dataset
        self.folder = folder
        self._benchmark: Any = None

    def __reduce__(self) -> tuple[type["_Surrogate"], tuple[str, Path]]:
        return _Surrogate, (self.dataset, self.folder)

    def accuracy(self, config: dict[str, Any], epochs: int) -> float:
        """The validation accuracy in percent after `epochs` epochs."""
        if self._benchmark is None:
            self._benchmark = _load_benchmark(self.dataset, self.folder)
        answer = self._benchmark(config, nepochs=epochs)
        try:
            return float(answer[epochs][METRIC])
        except (KeyError, TypeError, ValueError):
            raise DataError(
                f"The surrogate of {self.dataset} in {self.folder} does not return {METRIC!r} "
                f"after {epochs} epochs, got {answer!r}."
            ) from None


def _checked_folder(folder: str | Path | None, dataset: str) -> Path:
    """The folder, after checking that it has all files of the dataset's surrogate."""
    if folder is None:
        raise DataError(
            "JAHS-Bench-201 needs the folder with its published surrogates, and none is set. Set "
            f"it with --jahs FOLDER or the environment variable {JAHS_FOLDER}. {_TRUST_WARNING}"
        )
    for name in FILES:
        path = Path(folder) / "assembled_surrogates" / dataset / METRIC / name
        if not path.is_file():
            raise DataError(
                f"JAHS-Bench-201 needs the file {path}, which does not exist. Unpack version "
                "1.1.0 of the project's assembled_surrogates into the folder. " + _TRUST_WARNING
            )
    return Path(folder)


def _load_benchmark(dataset: str, folder: Path) -> Any:
    try:
        import jahs_bench
    except ImportError as error:
        raise ExtraError(
            f"JAHS-Bench-201 needs the package jahs_bench, which cannot be imported ({error}). "
            f"Install it with: pip install jahs-bench. {_TRUST_WARNING}"
        ) from None
    try:
        return jahs_bench.Benchmark(
            task=dataset, kind="surrogate", download=False, save_dir=folder, metrics=[METRIC]
        )
    except Exception as error:
        raise DataError(
            f"jahs_bench could not load the surrogate of {dataset} in {folder}: {error!r}."
        ) from None
