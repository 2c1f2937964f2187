"""Surrogate models in ONNX files, evaluated on one thread."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from priorband.errors import DataError, ExtraError


class Network:
    """A model in a file, loaded at the first prediction: named arrays in, one array out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session: Any = None

    def __repr__(self) -> str:
        return f"Network({self.path.name!r})"

    def __reduce__(self) -> tuple[type["Network"], tuple[Path]]:
        return Network, (self.path,)

    def run(self, **inputs: NDArray[Any]) -> NDArray[np.float32]:
        """The model's first output for the given inputs."""
        if self._session is None:
            self._session = _open_session(self.path)
        output: NDArray[np.float32] = self._session.run(None, inputs)[0]
        return output


def _open_session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise ExtraError(
            f"The surrogate {path.name} needs the package onnxruntime, which is not installed. "
            "Install it with: pip install 'priorband[surrogates]'"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # more threads make small batches slower
    options.inter_op_num_threads = 1
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise DataError(f"The file {path} is not a readable ONNX model: {error}.") from None
