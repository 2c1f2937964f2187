"""The panel and the words of a view: right at any width, and harmless whatever names hold."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

import priorband as pb
from priorband.display import live, polling
from priorband.display.live import LiveDisplay
from priorband.display.overview import Overview, Running, study_overview
from priorband.display.panel import panel
from priorband.display.recent import NOTHING
from priorband.display.recent_text import bests_text
from priorband.display.summary import (
    budget_text,
    final_lines,
    progress_line,
    running_cells,
    trials_text,
)
from priorband.durable.messages import Assignment
from priorband.values import replaced

SPACE = pb.Space({"[red]x": pb.Float(0, 1, prior=0.4), "how": pb.Categorical(["\x1b[2J", "b"])})
EPOCHS = pb.Fidelity("epochs", 1, 9)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[pb.DurableStudy]:
    with pb.open_study(tmp_path / "[bold]study", SPACE, EPOCHS) as opened:
        opened.limit(4)
        yield opened


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and drawings as often as there are ticks."""
    monkeypatch.setattr(polling, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(polling, "COST_FACTOR", 0.0)
    monkeypatch.setattr(live, "REDRAW_SECONDS", 0.0)


def told(study: pb.DurableStudy, *losses: float) -> None:
    for loss in losses:
        study.tell(study.ask(), loss)


def seen(study: pb.DurableStudy) -> Overview:
    return study_overview(study, study.journal.leases(), study.journal.now())


def no_control_codes(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def drawn(what: Overview, width: int, height: int = 24) -> list[str]:
    console = Console(width=width, height=height, record=True, file=io.StringIO())
    console.print(panel(what, width, height))
    return console.export_text().splitlines()


def busy(study: pb.DurableStudy, number: int) -> Overview:
    told(study, 0.5, 0.125)
    study.fail(study.ask(), "why", kind="timeout")
    for word in range(number):
        assert isinstance(study.turn(None, f"{word}"), Assignment)
    return seen(study)


@pytest.mark.parametrize("width", [120, 80, 66, 50, 40, 20, 8, 1])
def test_the_panel_fits_any_terminal(study: pb.DurableStudy, width: int) -> None:
    made = drawn(busy(study, 3), width)
    assert max(map(len, made)) <= width
    config = [line for line in made if "how=" in line]
    assert len(made) == 10 + len(config)  # six lines, the table's head and three trials
    assert bool(config) == (width >= 60)


def test_the_panel_shows_what_matters(study: pb.DurableStudy) -> None:
    now = busy(study, 2)
    first = replaced(now.running[0], step=3.0, value=0.75, seconds=63.0, lost=True)
    now = replaced(now, running=(first, *now.running[1:]), seconds_left=700.0)
    text = "\n".join(drawn(now, 120))
    for shown in (
        "[bold]study",
        "3 ended (1 failed: timeout), 2 running",
        "best     0.125 at epochs=1 (trial 1); in full 0.5 (trial 0)",
        "about 12 min left",
        "trial  rung  epochs  loss  elapsed",
        f"3/{first.fidelity:g}  0.75     1:03",
        "lost?",
    ):
        assert shown in text, text


def test_the_best_over_time_is_shown_once_it_has_changed() -> None:
    assert bests_text(replaced(NOTHING, bests=(0.5, 0.5)), 40) == ""
    assert bests_text(replaced(NOTHING, bests=(0.5, 0.25)), 40).endswith(" 0.5 → 0.25")


def test_many_trials_do_not_fill_the_screen(study: pb.DurableStudy) -> None:
    made = drawn(busy(study, 10), 80, height=12)
    assert len(made) <= 12 and made[-1].split() == ["+6"]


@pytest.mark.usefixtures("hurried")
def test_live_draws_a_panel_and_leaves_the_terminal_as_it_was(study: pb.DurableStudy) -> None:
    stream = io.StringIO()
    with LiveDisplay(study, stream, (80, 24)) as shown:
        told(study, 0.5)
        shown.tick()
        shown.say("A message [red]for people\x1b[2J")
        shown.tick()
        shown.finish("Done.")
    said = stream.getvalue()
    assert "A message [red]for people\\x1b[2J" in said
    assert "0 running" in said and "Best: 0.5 at epochs=9 (trial 0)" in said
    assert "\x1b[2J" not in said and "\x1b[?1049h" not in said
    assert said.count("\x1b[?25l") == said.count("\x1b[?25h") == 1


def test_live_leaves_the_terminal_as_it_was_when_something_breaks(study: pb.DurableStudy) -> None:
    stream = io.StringIO()
    before = sys.stdout, sys.stderr
    with pytest.raises(KeyboardInterrupt), LiveDisplay(study, stream, (80, 24)) as shown:
        shown.tick()
        raise KeyboardInterrupt
    assert stream.getvalue().rfind("\x1b[?25h") > stream.getvalue().rfind("\x1b[?25l") >= 0
    assert (sys.stdout, sys.stderr) == before


def test_live_is_calm(study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    drawings, clock = list[float](), [100.0]
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    with LiveDisplay(study, io.StringIO(), (80, 24)) as shown:
        monkeypatch.setattr(shown, "_draw", lambda: drawings.append(clock[0]))
        for _ in range(99):
            shown.tick()
            clock[0] += live.REDRAW_SECONDS / 50
    assert live.REDRAW_SECONDS >= 0.25 and len(drawings) == 2


def test_names_of_workers_and_origins_are_made_harmless() -> None:
    evil = "\x1b[2J[red]\n"
    one = Running(0, 1, None, 9, 0, evil, evil, evil, 0.0, 1.0, None, None, False)
    assert all(no_control_codes(cell) and "\n" not in cell for cell in running_cells(one).values())


def test_words_for_a_study_without_a_budget(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        now = seen(study)
    assert budget_text(now) == "0 trials, no budget"
    assert trials_text(now) == "0 ended, 0 running"
    assert progress_line(now).endswith("no result yet; workers: none active")
    assert list(final_lines(now, "a\nb")) == [
        "a",
        "No trial has succeeded: 0 ended, 0 running.",
        "b",
    ]
