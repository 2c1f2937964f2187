"""The name of a method: how a person would ask for it."""

import re
from collections.abc import Iterator

from priorband.errors import MethodError
from priorband.named_methods import FAMILIES, methods, optimizer
from priorband.optimizers import Optimizer
from priorband.schedulers.wrapped import base_plan, with_plan
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
    for plain in (_without_options(method), _without_plan_options(method)):
        name = next((name for name in _candidates(plain) if _makes(name, plain)), None)
        if name is not None:
            return name
    return None


def method_options(method: Optimizer) -> dict[str, object]:
    """The options of a method that are not the usual ones.

    >>> method_options(optimizer("asha", eta=4, promotion="neps"))
    {'eta': 4, 'promotion': 'neps'}
    """
    name = method_name(method)
    plan = base_plan(method.scheduler)
    named = None if name is None else optimizer(name)
    usual_plan = field_defaults(type(plan))
    if named is not None:
        own = base_plan(named.scheduler)
        usual_plan = {each: getattr(own, each) for each in field_names(own)}
    changed = dict[str, object]()
    parts = (
        (method, _OPTIONS, field_defaults(Optimizer)),
        (plan, field_names(plan), usual_plan),
    )
    for part, names, usual in parts:
        values = {each: getattr(part, each) for each in names}
        changed |= {each: v for each, v in values.items() if v != usual.get(each)}
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
    return replaced(method, **{name: usual[name] for name in _OPTIONS})


def _without_plan_options(method: Optimizer) -> Optimizer:
    """The method without its options and those of its brackets, which some names imply."""
    plan = base_plan(method.scheduler)
    usual = field_defaults(type(plan)) if field_names(plan) else {}
    return replaced(_without_options(method), scheduler=with_plan(method.scheduler, **usual))


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
