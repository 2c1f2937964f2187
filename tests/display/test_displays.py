"""A display shows how a study goes, in four ways, and never ends a worker."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import priorband as pb
from priorband.display import lines, live, polling
from priorband.display.displays import SafeDisplay, Show, checked_show, display
from priorband.display.lines import JsonDisplay, MessageDisplay, PlainDisplay
from priorband.display.live import LiveDisplay
from priorband.display.output import LineWriter, OutputQueue
from priorband.display.polling import Poller

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


def no_control_codes(text: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in text)


def test_unknown_ways_to_show_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    for wrong in ("lively", "", 3):
        with pytest.raises(pb.errors.ArgumentError, match="'live', 'plain', 'json', 'quiet'"):
            pb.tune(len, SPACE, EPOCHS, budget=1, study=tmp_path / "s", show=wrong)  # type: ignore[arg-type]  # wrong
    assert not (tmp_path / "s").exists()


def test_what_fits_the_place_is_live_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stream: Any = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    assert checked_show(None) == "plain"
    stream.isatty = lambda: True
    assert checked_show(None) == "live"
    monkeypatch.setenv("TERM", "dumb")
    assert checked_show(None) == "plain"


@pytest.mark.usefixtures("hurried")
def test_plain_names_each_new_best_once(study: pb.DurableStudy) -> None:
    told(study, 0.9)
    stream = io.StringIO()
    shown = PlainDisplay(study, stream)
    shown.tick()
    assert stream.getvalue() == ""
    told(study, 0.95, 0.5, 0.7, 0.25)
    shown.tick()
    shown.tick()
    said = stream.getvalue().splitlines()
    assert [line.split("new best ")[1] for line in said] == [
        "0.5 at epochs=1 (trial 2)",
        "0.25 at epochs=1 (trial 4)",
    ]
    assert no_control_codes(stream.getvalue())


@pytest.mark.usefixtures("hurried")
def test_plain_says_now_and_then_how_it_goes(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    shown = PlainDisplay(study, stream)
    monkeypatch.setattr(lines, "PROGRESS_SECONDS", 0.0)
    told(study, 0.5)
    study.ask()
    shown.tick()
    shown.tick()
    first, second, third = stream.getvalue().splitlines()
    assert "new best" in first and second[6:] == third[6:]
    assert "1 ended, 1 running; best 0.5 at epochs=9 (trial 0); workers: 1 active" in second


def test_a_study_is_looked_at_once_a_second_at_most(
    study: pb.DurableStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(polling, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    poller = Poller(study)
    assert poller.poll() is not None
    clock[0] += 0.999
    assert poller.poll() is None
    assert poller.poll(force=True) is not None
    clock[0] += 1.0
    assert poller.poll() is not None


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("show", ["live", "plain", "json", "quiet"])
def test_storage_that_does_not_answer_is_no_matter(
    study: pb.DurableStudy, show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    def out_of_reach() -> None:
        raise pb.errors.StorageError("The server is gone.")

    with display(study, show) as shown:
        shown.tick()
        monkeypatch.setattr(study, "refresh", out_of_reach)
        shown.tick()
        shown.say("still here")
        shown.finish("The end.")


@pytest.mark.usefixtures("hurried")
def test_json_is_one_object_a_line(study: pb.DurableStudy) -> None:
    stream = io.StringIO()
    shown = JsonDisplay(study, stream)
    told(study, 0.5)
    shown.tick()
    shown.tick()  # nothing has changed
    shown.say("watch\nout \x1b[31m")
    told(study, 0.25)
    shown.tick()
    shown.finish("The end.", ["A note."])
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [e["event"] for e in events] == [
        "progress",
        "message",
        "progress",
        "message",
        "finish",
    ]
    assert events[1]["text"] == "watch\nout \x1b[31m"
    assert events[3]["text"] == "A note."
    assert events[4]["reason"] == "The end." and events[4]["best"]["value"] == 0.25
    assert no_control_codes(stream.getvalue())


def test_quiet_says_nothing(study: pb.DurableStudy, capsys: Any) -> None:
    told(study, 0.5)
    with display(study, "quiet") as shown:
        shown.tick()
        shown.say("Look here\x1b[2J")
        shown.finish("The end.")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "")


def test_what_several_workers_say_at_once_is_said_once(study: pb.DurableStudy, capsys: Any) -> None:
    with display(study, "json") as shown:
        for text in ("one", "one", "two", "one"):
            shown.say(text)
    said = [json.loads(line)["text"] for line in capsys.readouterr().out.splitlines()]
    assert said == ["one", "two", "one"]


def test_the_end_says_why_and_what_was_found(study: pb.DurableStudy, capsys: Any) -> None:
    with display(study, "plain") as shown:
        shown.finish("Stopped by SIGINT. Run the same again to resume it.")
    assert "No trial has succeeded: 0 ended" in capsys.readouterr().out
    told(study, 0.5, 0.25)
    with display(study, "plain") as shown:
        shown.finish("Done.\nRun it again.", ["A note."])
    said = capsys.readouterr().out
    assert said.splitlines()[:3] == [
        "Done.",
        "Best: 0.25 at epochs=1 (trial 1), of 2 trials:",
        f"  [red]x  {study.state.history.trial(1).config['[red]x']!r}",
    ]
    assert "Best in full: 0.5 at epochs=9 (trial 0):" in said
    assert said.endswith("\nA note.\nRun it again.\n")
    assert "'\\x1b[2J'" in said and no_control_codes(said)


def test_a_configuration_that_is_the_best_in_full_too_is_shown_once(
    study: pb.DurableStudy, capsys: Any
) -> None:
    config = study.problem.prior.mode
    study.add(config, 0.25, 3)
    study.add(config, 0.5, 9)
    with display(study, "plain") as shown:
        shown.finish("Done.")
    said = capsys.readouterr().out
    assert said.endswith("Best in full: 0.5 at epochs=9 (trial 1), with the same configuration.\n")


class Gone(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.usefixtures("hurried")
def test_a_reader_that_goes_away_is_no_matter(study: pb.DurableStudy) -> None:
    told(study, 0.5)
    with LiveDisplay(study, Gone(), (80, 24)) as on_a_terminal:
        for shown in (
            PlainDisplay(study, Gone()),
            JsonDisplay(study, Gone()),
            MessageDisplay(Gone()),
            on_a_terminal,
        ):
            shown.say("one")
            shown.tick()
            shown.finish("two")
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        PlainDisplay(study, stream).say("one")


def test_characters_that_a_stream_cannot_write_are_escaped() -> None:
    raw = io.BytesIO()
    ascii_only = io.TextIOWrapper(raw, encoding="ascii")
    LineWriter(ascii_only).write("größe")
    assert raw.getvalue() == b"gr\\xf6\\xdfe\n"


def test_a_signal_handler_may_speak_in_the_middle_of_a_line() -> None:
    class Slow(io.StringIO):
        def write(self, text: str) -> int:
            written = super().write(text[:3])
            if "first" in text:
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(0)  # the handler runs here
            return written + super().write(text[3:])

    stream = Slow()
    said = LineWriter(stream)
    before = signal.signal(signal.SIGUSR1, lambda *_: said.write("handler"))
    try:
        said.write("first line")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert stream.getvalue() == "first line\nhandler\n"


def test_turns_come_one_after_another_even_after_an_interruption() -> None:
    turns, done = OutputQueue(), list[int]()

    def interrupted() -> None:
        turns.run(lambda: done.append(2))
        done.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turns.run(interrupted)
    turns.run(lambda: done.append(3))
    assert done == [1, 2, 3]


def test_a_mistake_in_a_display_costs_the_display_only(capsys: Any) -> None:
    class Broken:
        def say(self, text: str) -> None:
            del text

        def tick(self) -> None:
            raise ZeroDivisionError("oops")

        def finish(self, reason: str, notes: Sequence[str] = ()) -> None:
            raise AssertionError(reason, notes)

    shown = SafeDisplay(Broken())
    shown.tick()
    shown.tick()
    shown.finish("The end.")
    said = capsys.readouterr().err
    assert (
        said.startswith("The display failed (ZeroDivisionError: oops).") and said.count("\n") == 1
    )


@pytest.mark.parametrize(("show", "said"), [("plain", "Best: "), ("json", '"event": "finish"')])
def test_tuning_shows_what_it_finds(tmp_path: Path, show: Show, said: str, capsys: Any) -> None:
    pb.tune(
        lambda trial: float(trial.config["[red]x"]),
        SPACE,
        EPOCHS,
        budget=2,
        study=tmp_path,
        show=show,
        start="same-process",
    )
    out, err = capsys.readouterr()
    assert said in out and err == "" and no_control_codes(out)


def test_tuning_loads_neither_rich_nor_the_command_line() -> None:
    script = "import sys, priorband; priorband.tune; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = {*done.stdout.split()}
    assert "priorband.display.displays" in loaded
    assert not loaded & {"argparse", "rich", "priorband.cli"}
