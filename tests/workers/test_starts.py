"""How trials start: one that is forked from a server sees what one from nothing sees."""

import importlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from objectives import EPOCHS, GATE, SPACE
from single_trial import trial_end
from waiting import LONGEST

import priorband as pb
from priorband.durable.messages import Assignment, Idle, Report
from priorband.workers import trial_starter
from priorband.workers.guarded_process import GuardedProcess
from priorband.workers.trial_process import TrialProcess
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.trial_starter import STARTS, Start
from priorband.workers.worker import Worker

slow = pytest.mark.slow
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has guards")
MakeModule = Callable[[str, str], ModuleType]


@pytest.fixture
def make_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeModule:
    """Write a module to a file, and import it."""

    def make(name: str, text: str) -> ModuleType:
        folder = tmp_path / "modules"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setenv(GATE, str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        module = importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, module)  # is removed at the end
        return module

    return make


def run(where: Path, objective: Any, trials: int, start: Start) -> tuple[list[float], list[str]]:
    """The losses of some trials, by a worker in this process, and what it said."""
    said = list[str]()
    with pb.open_study(where, SPACE, EPOCHS, method="random") as study:
        study.limit(pb.Budget(trials=trials))
        assert Worker(study, objective, WorkerOptions(start), said.append).run().status == "done"
        return [one.loss for one in study.state.history.observations], said


def describe(trial: pb.Attempt) -> float:
    """Write what an objective can see of its process to a file."""
    import multiprocessing
    import threading

    own, above = multiprocessing.current_process(), multiprocessing.parent_process()
    links = [os.path.realpath(f"/proc/self/fd/{file}") for file in os.listdir("/proc/self/fd")]
    kinds = sorted(Path(link).name.partition(":")[0] for link in links)
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    seen = {
        "folder": os.getcwd(),
        "umask": os.umask(0),
        "words": sys.argv,
        "path": sys.path,
        "environment": dict(os.environ),
        "files": [kind for kind in kinds if not kind.isdigit()],  # that of this listing is closed
        "handlers": {int(n): getattr(h, "__name__", str(h)) for n, h in handlers.items()},
        "mask": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "process": [own.name, own.daemon, above and above.pid, above and above.is_alive()],
        "method": multiprocessing.get_start_method(),
        "threads": threading.active_count(),
        "leader": os.getsid(0) == os.getpid() == os.getpgrp(),
        "stdin": os.read(0, 1).decode(),
    }
    Path(os.environ[GATE], f"{trial.config['x']}.json").write_text(json.dumps(seen))
    return float(trial.config["x"])


@linux
def test_a_warm_trial_sees_what_a_cold_one_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GATE, str(tmp_path))
    seen = dict[str, list[dict[str, Any]]]()
    for start in STARTS[:2]:
        losses, said = run(tmp_path / start, describe, 2, start)
        assert said == [] and len(set(losses)) == 2
        texts = [(tmp_path / f"{loss}.json").read_text() for loss in losses]
        seen[start] = [json.loads(text) for text in texts]
    for warm, cold in zip(seen["warm"], seen["cold"], strict=True):
        assert {name: warm[name] for name in cold if warm[name] != cold[name]} == {}


SEEDED = """
import random
import numpy as np
random.seed(3)
np.random.seed(4)
def draw(trial):
    return random.random() + np.random.random()
"""


def draw(trial: pb.Attempt) -> float:
    return random.random() + 2 * float(np.random.random())  # noqa: NPY002  # as users do


@pytest.mark.parametrize("start", STARTS[:2])
def test_trials_draw_other_random_numbers_unless_their_module_has_seeded(
    tmp_path: Path, start: Start, make_module: MakeModule
) -> None:
    assert len(set(run(tmp_path / "a", draw, 2, start)[0])) == 2
    first = random.Random(3).random() + np.random.RandomState(4).random()
    module = make_module("seeds_when_imported", SEEDED)
    assert run(tmp_path / "b", module.draw, 2, start)[0] == [first, first]


EDITS = """
import os
VALUE = 1.0
def edit(trial):
    path = os.path.join(os.environ["GATE"], "modules", "is_edited.py")
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(text.replace("VALUE = 1.0", "VALUE = 22.0"))
    return VALUE
"""


@pytest.mark.parametrize("start", STARTS)
def test_a_module_that_was_edited_is_imported_again(
    tmp_path: Path, start: Start, make_module: MakeModule
) -> None:
    module = make_module("is_edited", EDITS.replace("GATE", GATE))
    losses = run(tmp_path / "study", module.edit, 2, start)[0]
    assert losses == ([1.0, 1.0] if start == "same-process" else [1.0, 22.0])


def server_pid() -> int:
    """The process that has forked this one."""
    return os.getppid()


def notes_server(trial: pb.Attempt) -> float:
    with Path(os.environ[GATE], "servers").open("a") as file:
        print(server_pid(), file=file)
    return 0.5


@linux
def test_a_server_forks_several_trials_and_then_another_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GATE, str(tmp_path))
    monkeypatch.setattr(trial_starter, "TRIALS_EACH", 2)
    run(tmp_path / "study", notes_server, 3, "warm")
    first, second, third = (tmp_path / "servers").read_text().split()
    assert first == second != third
    assert not Path(f"/proc/{third}").exists()


@linux
def test_a_change_of_the_environment_reaches_the_next_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_LOSS", "1.5")
    with pb.open_study(tmp_path, SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=2))
        worker = Worker(study, reads_environment, WorkerOptions(), tick=change_environment)
        assert worker.run().status == "done"
        assert study.state.history.observations[-1].loss == 2.5


def reads_environment(trial: pb.Attempt) -> float:
    return float(os.environ["A_LOSS"])


def change_environment() -> None:
    os.environ["A_LOSS"] = "2.5"


KILLS_SERVER = """
import os, signal
importer = os.getpid()
def value(trial):
    with open(os.path.join(os.environ["GATE"], "attempts"), "a") as file:
        print(trial.attempt, file=file)
    if trial.attempt == 1:
        os.kill(importer, signal.SIGKILL)
        while True:  # the guards send SIGTERM first, which is handled
            signal.pause()
    return 0.5
"""
SAYS_NOTHING = """
import multiprocessing
from priorband.workers import warm_server
send = warm_server._send
def send_no_pid(channel, message):
    while "pid" in message:
        signal.pause()
    send(channel, message)
if multiprocessing.current_process().name != "MainProcess":
    warm_server._send = send_no_pid
"""


@linux
@pytest.mark.parametrize(
    "text", [KILLS_SERVER, KILLS_SERVER + SAYS_NOTHING], ids=["says so", "says nothing"]
)
@pytest.mark.parametrize("looks_late", [False, True])
def test_a_trial_whose_server_dies_gets_another_attempt(
    tmp_path: Path,
    make_module: MakeModule,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    looks_late: bool,
) -> None:
    """Also if it dies before it has said that it forked the trial."""
    receive = TrialProcess.receive

    def receive_late(child: TrialProcess, seconds: float) -> list[dict[str, Any]]:
        child.process.join(LONGEST)
        return receive(child, seconds)

    if looks_late:
        monkeypatch.setattr(TrialProcess, "receive", receive_late)
    module = make_module("kills_its_server", text.replace("GATE", GATE))
    ended = trial_end(tmp_path / "study", module.value)
    assert (ended["loss"], ended["attempt"]) == (0.5, 2)
    assert (tmp_path / "attempts").read_text().split() == ["1", "2"]


STARTS_PROCESS = """
import multiprocessing, os, subprocess, sys
from pathlib import Path
CHILD = None
if multiprocessing.current_process().name != "MainProcess":
    CODE = "import os, time; os.fork(); time.sleep(600)"
    CHILD = subprocess.Popen([sys.executable, "-S", "-c", CODE])
def look(trial):
    stray = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    with Path(os.environ["GATE"], "strays").open("a") as file:
        print(stray.pid, file=file)
    return float(CHILD.pid)
"""


@linux
def test_a_process_that_a_module_starts_outlives_trials_but_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_module: MakeModule
) -> None:
    monkeypatch.setenv(GATE, str(tmp_path))
    module = make_module("starts_a_process", STARTS_PROCESS.replace("GATE", GATE))
    alive = list[tuple[bool, bool]]()
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS, method="random") as study:
        study.limit(pb.Budget(trials=2))
        turn = study.turn

        def look_after_trial(report: Report | None, request: str) -> Assignment | Idle | None:
            if report is not None:
                assert report.loss is not None
                stray = (tmp_path / "strays").read_text().split()[-1]
                alive.append((is_running(int(report.loss)), is_running(int(stray))))
            return turn(report, request)

        vars(study)["turn"] = look_after_trial
        assert Worker(study, module.look, WorkerOptions()).run().status == "done"
        first, second = (int(one.loss) for one in study.state.history.observations)
    assert alive == [(True, False), (True, False)]
    assert first == second and not is_running(first)


def is_running(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


THREAD = """
import multiprocessing, threading, time
if multiprocessing.current_process().name != "MainProcess":
    threading.Thread(target=time.sleep, args=(600,), daemon=DAEMON, name="prefetch").start()
def value(trial):
    return 0.5
"""


@linux
@pytest.mark.parametrize("daemon", [True, False])
def test_a_module_that_starts_a_thread_is_imported_by_each_trial(
    tmp_path: Path, make_module: MakeModule, daemon: bool
) -> None:
    module = make_module("starts_a_thread", THREAD.replace("DAEMON", str(daemon)))
    losses, [said] = run(tmp_path / "study", module.value, 2, "warm")
    assert losses == [0.5, 0.5]
    assert "starts a thread" in said and "prefetch" in said and "start='cold'" in said


CUDA = """
import sys, types
sys.modules["torch"] = torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace({})
def value(trial):
    return 0.5
"""


@linux
@pytest.mark.parametrize(
    "cuda",
    [
        "is_initialized=lambda: True",
        "is_initialized=lambda: False, _is_in_bad_fork=lambda: True",
    ],
)
def test_a_module_that_uses_a_gpu_is_imported_by_each_trial(
    tmp_path: Path, make_module: MakeModule, monkeypatch: pytest.MonkeyPatch, cuda: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    module = make_module("uses_a_gpu", CUDA.format(cuda))
    losses, [said] = run(tmp_path / "study", module.value, 1, "warm")
    assert losses == [0.5] and "uses a GPU" in said


def test_without_fork_trials_start_cold_and_the_worker_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_starter, "CAN_BE_WARM", False)
    losses, [said] = run(tmp_path, draw, 2, "warm")
    assert len(losses) == 2 and "cannot fork" in said


FAILS = """
import multiprocessing
if multiprocessing.current_process().name != "MainProcess":
    raise ImportError("not in a child process")
def value(trial):
    return 0.5
"""


@linux
def test_an_import_that_fails_is_reported_as_with_a_cold_start(
    tmp_path: Path, make_module: MakeModule, capfd: pytest.CaptureFixture[str]
) -> None:
    module = make_module("fails_to_import", FAILS)
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        end = Worker(study, module.value, WorkerOptions()).run()
    assert end.status == "method" and "could not start" in end.reason
    assert capfd.readouterr().err.count("ImportError: not in a child process") == 1


def test_a_local_function_is_sent_by_value(tmp_path: Path) -> None:
    offset = 2.5
    tuned = pb.tune(lambda trial: offset, SPACE, EPOCHS, budget=1, study=tmp_path, show="quiet")
    assert tuned.value == 2.5


def test_the_failure_of_a_local_function_names_its_place(tmp_path: Path) -> None:
    def nothing(trial: pb.Attempt) -> None:
        pass

    with pytest.raises(pb.errors.HaltedError, match="returned None(?s:.*)test_starts.py"):
        pb.tune(nothing, SPACE, EPOCHS, budget=1, study=tmp_path, show="quiet")


def test_without_cloudpickle_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pb.errors.ExtraError, match=r"pip install 'priorband\[notebook\]'"):
        pb.tune(lambda trial: 0.5, SPACE, EPOCHS, budget=1, study=tmp_path / "s", show="quiet")
    assert not (tmp_path / "s").exists()


PROMPT = """
import sys, priorband as pb
shift = 0.25
def train(trial):
    return trial.config["x"] ** 2 + shift
space, where = pb.Space({"x": pb.Float(0, 1)}), sys.argv[1]
tuned = pb.tune(train, space, budget=3, study=where, workers=WORKERS, show="quiet", start="START")
print(tuned.value >= 0.25)
"""


@pytest.mark.parametrize(
    ("workers", "start"),
    [
        (1, "warm"),
        pytest.param(2, "warm", marks=slow),
        pytest.param(2, "cold", marks=slow),
        pytest.param(2, "same-process", marks=slow),
    ],
)
def test_a_function_from_a_prompt_can_be_tuned(tmp_path: Path, workers: int, start: str) -> None:
    """As in a notebook, there is no file that other processes could import."""
    text = PROMPT.replace("WORKERS", str(workers)).replace("START", start)
    done = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path / "study")],
        text=True,
        capture_output=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_start_of_another_name_is_refused() -> None:
    with pytest.raises(pb.errors.ArgumentError, match="`start` must be 'warm', 'cold' or"):
        WorkerOptions(start="hot")  # type: ignore[arg-type]  # a wrong one


@linux
def test_a_server_is_ended_with_its_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GATE, str(tmp_path))
    started = list[int | None]()
    real = GuardedProcess.start

    def start(self: GuardedProcess) -> None:
        real(self)
        started.append(self.pid)

    monkeypatch.setattr(GuardedProcess, "start", start)
    run(tmp_path / "study", notes_server, 1, "warm")
    assert len(started) == 1 and not Path(f"/proc/{started[0]}").exists()
