"""The name of a method: how a person would ask for it."""

import re
from collections.abc import Iterator

from priorband.errors import MethodError
from priorband.named_methods import FAMILIES, methods, optimizer
from priorband.optimizers import Optimizer
from priorband.values import field_defaults, field_names, replaced

_OPTIONS = ("eta", "sizes", "incumbent")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def method_name(method: Optimizer) -> str | None:
    """The name by which `optimizer` makes a method, apart from its options; None if there is none.

    >>> method_name(optimizer("asha+prior", eta=4))
    'asha+prior'
    >>> method_name(optimizer("priorband(sigma=0.3)"))
    'priorband(sigma=0.3)'
    """
    plain = _without_options(method)
    return next((name for name in _candidates(plain) if _makes(name, plain)), None)


def method_options(method: Optimizer) -> dict[str, object]:
    """The options of a method that are not the usual ones.

    >>> method_options(optimizer("asha", eta=4, promotion="neps"))
    {'eta': 4, 'promotion': 'neps'}
    """
    changed = dict[str, object]()
    for part, names in ((method, _OPTIONS), (method.scheduler, field_names(method.scheduler))):
        usual = field_defaults(type(part))
        values = {name: getattr(part, name) for name in names}
        changed |= {name: v for name, v in values.items() if v != usual.get(name)}
    return changed


def method_text(method: Optimizer) -> str:
    """A method in a message: its name and its options, or that it has no name.

    >>> method_text(optimizer("asha", eta=4))
    "'asha' with eta=4"
    """
    name = method_name(method)
    if name is None:
        return "one made of parts"
    options = ", ".join(f"{key}={value!r}" for key, value in method_options(method).items())
    return f"{name!r} with {options}" if options else repr(name)


def _without_options(method: Optimizer) -> Optimizer:
    usual = field_defaults(Optimizer)
    scheduler = method.scheduler
    if field_names(scheduler):
        scheduler = replaced(scheduler, **field_defaults(type(scheduler)))
    return replaced(method, scheduler=scheduler, **{name: usual[name] for name in _OPTIONS})


def _candidates(plain: Optimizer) -> Iterator[str]:
    """Names to try: those that are listed, then the families with each number in the method."""
    yield from methods()
    for text in dict.fromkeys(_NUMBER.findall(repr(plain.sampler))):
        for pattern in FAMILIES:
            for number in (float(text), 100 * float(text)):
                yield pattern.format(f"{number:.12g}")


def _makes(name: str, plain: Optimizer) -> bool:
    try:
        return optimizer(name) == plain
    except MethodError:  # a number that the family does not take
        return False
