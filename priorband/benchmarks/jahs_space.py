"""The space of JAHS-Bench-201 as the paper searches it: an architecture and its training.

Ten of the fourteen parameters are searched: the six operations of a cell, the activation, the
augmentation, the learning rate and the weight decay. The other four are constant: depth, width and
resolution at their highest values, and the only optimizer.
"""

from collections.abc import Mapping
from typing import Any

from priorband.fidelity import Fidelity
from priorband.space.base import Parameter
from priorband.space.choices import Categorical, Constant
from priorband.space.parameters import Float
from priorband.space.space import Space

OPERATIONS = ("Op1", "Op2", "Op3", "Op4", "Op5", "Op6")
ACTIVATIONS = ("ReLU", "Hardswish", "Mish")
CONSTANTS: Mapping[str, Any] = {"N": 5, "W": 16, "Resolution": 1.0, "Optimizer": "SGD"}


def jahs_space() -> Space:
    """The space, which is the same for every dataset: ten parameters and four constants."""
    searched: dict[str, Parameter] = {name: Categorical(range(5)) for name in OPERATIONS}
    searched |= {
        "TrivialAugment": Categorical([True, False]),
        "Activation": Categorical(ACTIVATIONS),
        "LearningRate": Float(1e-3, 1.0, log=True),
        "WeightDecay": Float(1e-5, 1e-2, log=True),
    }
    constants = {name: Constant(value) for name, value in CONSTANTS.items()}
    return Space({**searched, **constants})


def jahs_fidelity() -> Fidelity:
    """Epochs from 3 to 200."""
    return Fidelity("epoch", 3, 200)
