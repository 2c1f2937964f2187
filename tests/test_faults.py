"""The short form of every fault, and planted bugs that must be found: `python -m faults`."""

import subprocess
import sys
from pathlib import Path

import pytest
from amounts import slow

from faults.__main__ import _parser

pytestmark = slow
ROOT = Path(__file__).parent.parent
FOUND, ALL_SKIPPED = 1, 77
BOTH = (
    *("storm", "race", "calls", "frozen", "elsewhere", "signals"),
    *("identity", "unlinked", "special", "nospace"),
)
FAULTS = [
    *((fault, storage) for fault in BOTH for storage in ("sqlite", "postgres")),
    ("cut", "sqlite"),
    ("full", "sqlite"),
    ("objectives", "sqlite"),
    ("grid", "sqlite"),
    ("strays", "sqlite"),
    ("readonly", "sqlite"),
    ("database", "postgres"),
    ("connections", "postgres"),
]
PLANTS = [
    ("storm", "ack-before-commit", "acknowledged results lost", "--fresh=0"),
    ("race", "stale-claims", "not begun exactly once", "--births=0"),
    ("cut", "no-sync", "harm", "--births=0"),
    ("identity", "any-folder", "files of other studies changed", "--rounds=0"),
    ("identity", "folder-by-path", "files of other studies changed", "--rounds=1"),
    ("unlinked", "ack-what-is-lost", "acknowledged", "--rounds=1"),
    ("special", "open-anything", "commands hung", "--places=2"),
    ("nospace", "full-is-raised", "trials failed", "--workers=1"),
    ("nospace", "tell-at-once", "told by hand", "--workers=1"),
    ("readonly", "readers-need-the-index", "found something else", "--times=1"),
    ("strays", "no-subreaper", "processes left", "--endings=1"),
    ("strays", "server-lives", "processes left", "--endings=1"),
]


def injected(fault: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A fault in its short form; skipped where this machine lacks what it needs."""
    command = [sys.executable, "-m", "faults", fault, "--short", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200)
    if done.returncode == ALL_SKIPPED:
        pytest.skip(done.stdout.splitlines()[-1])
    return done


@pytest.mark.parametrize(("fault", "storage"), FAULTS)
def test_no_fault_harms_a_study(fault: str, storage: str) -> None:
    done = injected(fault, "--storage", storage)
    wrong = [line for line in done.stdout.splitlines() if line.endswith("FAIL")]
    assert done.returncode == 0, "\n".join([*wrong, done.stderr[-4000:]])


def test_a_worker_that_ignores_the_reports_of_others_is_found() -> None:
    done = injected("storm", "--storage=postgres", "--plant=posted-reports-ignored", "--fresh=0")
    assert done.returncode == FOUND, done.stderr[-4000:]


@pytest.mark.parametrize(
    "words", [["--short", "--seed=3", "race"], ["race", "--seed=3", "--short"]]
)
def test_options_may_come_before_or_after_the_fault(words: list[str]) -> None:
    arguments = _parser().parse_args(words)
    given = arguments.fault, arguments.short, arguments.seed, arguments.plant, arguments.storage
    assert given == ("race", True, 3, "", None)


@pytest.mark.parametrize(("fault", "plant", "said", "size"), PLANTS)
def test_a_planted_bug_is_found(fault: str, plant: str, said: str, size: str) -> None:
    done = injected(fault, "--storage", "sqlite", "--plant", plant, size)
    assert done.returncode == FOUND, done.stderr[-4000:]
    assert any(said in line for line in done.stdout.splitlines() if line.endswith("FAIL"))
