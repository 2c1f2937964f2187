"""Libraries that trials import while they run are imported by their server for the next ones."""

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest
from objectives import EPOCHS, SPACE
from started_processes import parent

import priorband as pb
from priorband.workers.lazy_imports import new_libraries
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has guards")
slow = pytest.mark.slow
LIBRARY = "library_of_a_test"
IN_SERVER = """
import os, signal
if signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, []):  # only servers block it
"""
COLD, WARM, FOUND = 0.0, 1.0, 2.0
"""The trial started cold; it was forked; it was forked, and the library was imported already."""


def imports_late(trial: pb.Attempt) -> float:
    found = LIBRARY in sys.modules
    importlib.import_module(LIBRARY)
    above_two_guards = parent(parent(os.getppid()))
    warm = above_two_guards != int(os.environ["PID_OF_WORKER"])
    return FOUND if found and warm else WARM if warm else COLD


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, folder: str = "site-packages"
) -> list[float]:
    """The losses of trials that import a library with this text, by a worker that says nothing."""
    modules = tmp_path / folder
    modules.mkdir()
    (modules / f"{LIBRARY}.py").write_text(text)
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.setenv("PID_OF_WORKER", str(os.getpid()))
    said = list[str]()
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS, method="random") as study:
        study.limit(pb.Budget(trials=3))
        assert Worker(study, imports_late, WorkerOptions(), said.append).run().status == "done"
        assert said == []
        return [one.loss for one in study.state.history.observations]


def test_a_library_that_a_trial_imports_is_there_in_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, monkeypatch, "print('imported')") == [WARM, FOUND, FOUND]
    assert capfd.readouterr() == ("", "")


def test_a_module_of_the_user_is_imported_by_each_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(tmp_path, monkeypatch, "", folder="project") == [WARM, WARM, WARM]


THREAD = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()"
SEED = "import random\nrandom.seed(3)"
HANDLER = "import signal\nsignal.signal(signal.SIGUSR2, signal.SIG_IGN)"
CRASH = IN_SERVER + "    os._exit(1)"


@pytest.mark.parametrize(
    "text",
    [THREAD, pytest.param(SEED, marks=slow), pytest.param(HANDLER, marks=slow), CRASH],
    ids=["thread", "seed", "handler", "crash"],
)
def test_a_library_that_forks_cannot_share_is_imported_by_each_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    first, second, third = run(tmp_path, monkeypatch, text)
    assert (first, third) == (WARM, WARM)
    assert second in (COLD, WARM)  # it is forked only if the server had ended before it started


def test_a_library_that_only_trials_can_import_is_imported_by_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = IN_SERVER + "    raise ImportError('not here')"
    assert run(tmp_path, monkeypatch, text) == [WARM, WARM, WARM]


def test_only_libraries_that_can_be_imported_by_their_names_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import json.decoder

    before = set(sys.modules) - {"json.decoder", "sys", "os.path", "__main__", __name__}
    monkeypatch.setitem(sys.modules, "made_by_hand", ModuleType("made_by_hand"))
    monkeypatch.setitem(sys.modules, "alias", json.decoder)
    monkeypatch.setitem(sys.modules, "not_there", None)
    assert new_libraries(before) == ["json.decoder"]
