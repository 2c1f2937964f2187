"""Each message of the register has the text that was read and approved."""

import json

import pytest
from message_register import CALLS, COMMANDS, DATA, register

APPROVED: dict[str, str] = json.loads(DATA.read_text())


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    return register()


@pytest.mark.parametrize("what", APPROVED)
def test_a_message_is_as_it_was_read(said: dict[str, str], what: str) -> None:
    assert said[what] == APPROVED[what]


def test_all_are_in_the_file_and_all_say_something() -> None:
    assert len(APPROVED) == len(CALLS) + len(COMMANDS)
    assert "(nothing was said)" not in APPROVED.values()
