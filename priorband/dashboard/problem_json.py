"""What a study is about, as JSON data: its space, prior, fidelity, method and rungs."""

from typing import Any

from priorband.display.text import jsonable
from priorband.durable.study import DurableStudy
from priorband.method_names import method_text
from priorband.space.base import Parameter
from priorband.space.choices import Constant
from priorband.space.prior import same_prior

_SHOWN = ("low", "high", "log", "step", "choices", "value", "prior", "confidence")


def problem_json(study: DurableStudy) -> dict[str, Any]:
    """What a study is about."""
    problem, ladder = study.problem, study.state.ladder
    stored = study.ledger.problem["method"]
    return {
        "method": str(stored["name"]) if "name" in stored else method_text(problem.optimizer),
        "seed": problem.seed,
        "fidelity": {
            "name": problem.fidelity.name,
            "low": problem.fidelity.low,
            "high": problem.fidelity.high,
            "rungs": list(ladder.fidelities),
        },
        "maximize": study.maximize,
        "parameters": [
            _parameter(name, parameter) for name, parameter in study.space.parameters.items()
        ],
        "prior": jsonable(_prior_mode(study)),
    }


def _prior_mode(study: DurableStudy) -> dict[str, Any]:
    """What the prior finds most likely, of the parameters that have one."""
    prior, parameters = study.prior, study.space.parameters
    stated = {name for name, one in parameters.items() if getattr(one, "prior", None) is not None}
    own = same_prior(prior, study.space.prior)
    return {name: value for name, value in prior.mode.items() if not own or name in stated}


def _parameter(name: str, parameter: Parameter | Constant) -> dict[str, Any]:
    shown = {key: getattr(parameter, key, None) for key in _SHOWN}
    stated = {key: jsonable(value) for key, value in shown.items() if value not in (None, ())}
    when = getattr(parameter, "when", None)
    return {
        "name": name,
        "type": type(parameter).__name__,
        **stated,
        "when": None if not when else {key: str(value) for key, value in when.items()},
    }
