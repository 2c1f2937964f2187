"""The namespaces `priorband.samplers` and `priorband.schedulers`: what methods are composed of."""

from types import ModuleType

import pytest

from priorband import samplers, schedulers


@pytest.mark.parametrize("package", [samplers, schedulers])
def test_exported_names_are_sorted_and_are_not_modules(package: ModuleType) -> None:
    names: list[str] = package.__all__
    assert names == sorted(set(names))
    assert not [name for name in names if isinstance(getattr(package, name), ModuleType)]


@pytest.mark.parametrize("package", [samplers, schedulers])
def test_every_exported_name_has_an_example_except_what_is_only_read(package: ModuleType) -> None:
    docs = {name: getattr(package, name).__doc__ for name in package.__all__}
    only_read = {"Chances", "Generator", "RandomSource", "Scores", "Slot"}
    assert {name for name, text in docs.items() if ">>>" not in text} <= only_read
