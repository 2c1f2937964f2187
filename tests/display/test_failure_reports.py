"""Every kind of failure says what happened, where, where the log is, and what to do."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

import priorband as pb
from priorband.display import polling
from priorband.display.failure_reports import (
    CodeLine,
    FailureReport,
    failure_lines,
    latest_failures,
    open_failures,
    shown_study,
    summary_line,
)
from priorband.display.lines import JsonDisplay, PlainDisplay
from priorband.durable.messages import Assignment, Report
from priorband.failures import FAILURE_KINDS, FailureKind
from priorband.values import replaced

SPACE = pb.Space({"x": pb.Float(0, 1)})
EPOCHS = pb.Fidelity("epochs", 1, 9)
HERE = CodeLine("train.py", 12, "train", "return 1 / 0")

ADVICE: dict[FailureKind, list[str]] = {
    "raised": [
        "Fix the error and run the same again. "
        "`priorband retry STUDY --failed` queues the failed trials again."
    ],
    "diverged": [
        "A few such configurations do no harm: they rank last. If most of them diverge, look for a "
        "mistake in the objective, or narrow the space, such as the learning rate."
    ],
    "memory": [
        "Let trials use less memory (smaller batches or models in the space), or run fewer workers "
        "at once."
    ],
    "timeout": [
        "Raise `trial_seconds` or `step_seconds`, or train for less. The log shows where the trial "
        "was."
    ],
    "crashed": [
        "The end of the log shows what happened. Typical causes: a crash in native code, "
        "`os._exit`, `sys.exit`."
    ],
    "invalid": [
        "Return the loss as a number, or in a dict with metrics of your choice:",
        "    def train(trial):",
        '        return 0.25  # or {"loss": 0.25, "seconds": 12.5}',
    ],
    "lost": [
        "The objective need not be changed: its worker was killed, or its machine stopped or lost "
        "its connection. Look for the reason on that machine."
    ],
    "preempted": ["Nothing needs to be done: the next worker continues the trial."],
}


@pytest.mark.parametrize("kind", FAILURE_KINDS)
def test_each_kind_says_where_it_was_and_what_to_do(kind: FailureKind) -> None:
    report = FailureReport(4, 1, kind, "why", (HERE,), log=Path("runs/s/trials/4/log-1.txt"))
    assert list(failure_lines([report], maximize=False)) == [
        f"trial 4, {kind}: why",
        "  train.py, line 12, in train: return 1 / 0",
        "  log: runs/s/trials/4/log-1.txt",
        *(f"  {line}" for line in ADVICE[kind]),
    ]


def test_a_script_is_shown_with_what_it_printed_last_and_advice_of_its_own() -> None:
    report = FailureReport(4, 1, "raised", "why", log=Path("log.txt"), output=("\x1b[2Ja", "  b"))
    assert list(failure_lines([report], maximize=False)) == [
        "trial 4, raised: why",
        "  | \\x1b[2Ja",
        "  |   b",
        "  log: log.txt",
        "  Fix the script or its `command` and run the same again. `priorband retry STUDY "
        "--failed` repeats the trials that have failed.",
    ]
    silent = replaced(report, kind="invalid", output=())
    *_, advice = failure_lines([silent], maximize=True)
    assert advice.startswith("  Correct `metric` in the study file")


def test_alike_failures_are_shown_once() -> None:
    newest = FailureReport(4, 1, "raised", "ValueError: 3", (HERE,))
    alike = replaced(newest, trial=2, reason="ValueError: 2")
    other = FailureReport(1, 1, "raised", "KeyError: 'x'", (replaced_line(HERE, 3),))
    assert list(failure_lines([newest, alike, other], maximize=False)) == [
        "trial 4, raised: ValueError: 3",
        "  train.py, line 12, in train: return 1 / 0",
        "  also failed like this: trial 2",
        "trial 1, raised: KeyError: 'x'",
        "  train.py, line 3, in train: return 1 / 0",
        "  Fix the error and run the same again. "
        "`priorband retry STUDY --failed` queues the failed trials again.",
    ]


def replaced_line(line: CodeLine, number: int) -> CodeLine:
    return line._replace(line=number)


def test_a_report_is_one_line_that_is_harmless() -> None:
    evil = FailureReport(0, 2, "lost", "\x1b[2J a\nb " + "x" * 500, ended=False)
    said = summary_line(evil)
    assert said.startswith("trial 0, attempt 2, lost: \\x1b[2J a b xxx") and said.isprintable()
    assert len(said) < 200


@pytest.mark.parametrize(
    "frames", [None, 3, "x", [3], [["a", 1]], [["a", "1", "f", ""]], [[1, 1, "f", ""]]]
)
def test_frames_that_are_none_are_left_out(tmp_path: Path, frames: Any) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        claim = study.turn(None, "a")
        assert isinstance(claim, Assignment)
        details = {"frames": frames, "traceback": 3}
        study.turn(Report(claim.trial.id, 1, None, "raised", "why", details), "")
        [report] = latest_failures(study, 3)
        assert (report.frames, report.traceback, report.log) == ((), "", None)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(polling, "COST_FACTOR", 0.0)


def fail(study: pb.DurableStudy, request: str, kind: FailureKind) -> None:
    claim = study.turn(None, request)
    assert isinstance(claim, Assignment)
    details = {"frames": [list(HERE)]}
    study.turn(Report(claim.trial.id, claim.attempt, None, kind, "why", details), "")


@pytest.mark.usefixtures("hurried")
def test_plain_names_each_failure_once_and_its_place_the_first_time(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS, retries={"crashed": 2}) as study:
        fail(study, "before", "timeout")
        stream = io.StringIO()
        shown = PlainDisplay(study, stream)
        for request in ("a", "b"):
            fail(study, request, "raised")
        fail(study, "c", "crashed")
        shown.tick()
        shown.tick()
        assert len(open_failures(study)) == 1
    assert [line.partition("] ")[2] or line for line in stream.getvalue().splitlines()] == [
        "was given back: trial 3, attempt 1, crashed: why",
        *(f"    {line}" for line in ADVICE["crashed"]),
        "failed: trial 1, raised: why",
        "    train.py, line 12, in train: return 1 / 0",
        "    Fix the error and run the same again. "
        "`priorband retry STUDY --failed` queues the failed trials again.",
        "failed: trial 2, raised: why",
    ]


@pytest.mark.usefixtures("hurried")
def test_json_has_an_event_for_each_failure(tmp_path: Path) -> None:
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        stream = io.StringIO()
        shown = JsonDisplay(study, stream)
        fail(study, "a", "invalid")
        shown.tick()
        shown.finish("The end.")
    failure, progress, finish = map(json.loads, stream.getvalue().splitlines())
    assert failure == {
        "event": "failure",
        "trial": 0,
        "attempt": 1,
        "kind": "invalid",
        "reason": "why",
        "frames": [{"file": "train.py", "line": 12, "function": "train", "code": "return 1 / 0"}],
        "log": None,
        "worker": study.worker,
        "advice": "\n".join(ADVICE["invalid"]),
        "ended": True,
    }
    del failure["event"]
    assert progress["latest_failures"] == finish["latest_failures"] == [failure]


def test_the_address_of_a_study_is_shown_as_it_is_and_a_folder_from_here(tmp_path: Path) -> None:
    address = "postgresql://ann@host:5432/lab#digits"
    assert shown_study(address) == address
    assert shown_study(str(Path.cwd() / "runs" / "digits")) == "runs/digits"
    assert shown_study(str(tmp_path)) == str(tmp_path)
