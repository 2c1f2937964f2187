"""Whatever a trial has started is ended with it, however the trial or its worker ends."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import pytest
from amounts import slow
from objectives import GATE
from single_trial import trial_end
from started_processes import (
    KINDS,
    TRIAL,
    alive,
    loads_data,
    parent,
    runs,
    started_pids,
    starts_processes,
)
from waiting import LONGEST, wait_until

import priorband as pb
from priorband.space.config import Config
from priorband.workers.attempt import TrialTask
from priorband.workers.trial_process import TrialProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
HERE = Path(__file__).parent
OBJECTIVE = ("--objective", "started_processes:starts_processes", "--space", "objectives:SPACE")


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with the pids of the processes that a trial starts."""
    folder = tmp_path / "gate"
    folder.mkdir()
    monkeypatch.setenv(GATE, str(folder))
    yield folder
    folder.rename(tmp_path / "over")  # ends those that a failed test has left


@contextmanager
def run(where: Path, *words: object) -> Iterator["subprocess.Popen[str]"]:
    """`priorband run` with the objective `starts_processes`, in a session of its own."""
    words = ("run", where, *OBJECTIVE, "--trials", 2, "--grace", 3, *words)
    with subprocess.Popen(
        [sys.executable, "-m", "priorband", *map(str, words)],
        cwd=HERE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for_start(gate: Path, trials: int = 1) -> None:
    """Wait until some trials have started all their processes."""
    wait_until(lambda: len([*gate.glob("started-*")]) >= trials, "the trials to start processes")


def wait_for_end(gate: Path) -> None:
    """Wait until all processes that trials have started have ended."""
    wait_until(lambda: not alive(gate), f"the end of {alive(gate)}")


@pytest.mark.parametrize(
    ("end", "options", "kind"),
    [
        ("return", {}, None),
        ("raise", {}, "raised"),
        pytest.param("exit", {}, "crashed", marks=slow),
        pytest.param("wait-for-ever", {"trial_seconds": 10.0}, "timeout", marks=slow),
    ],
)
def test_nothing_is_left_when_a_trial_has_ended(
    tmp_path: Path, gate: Path, end: str, options: dict[str, Any], kind: str | None
) -> None:
    (gate / "end").write_text(end)
    ended = trial_end(tmp_path / "study", starts_processes, **options)
    assert ended.get("kind") == kind
    assert len(started_pids(gate)) == ended["attempt"] * (len(KINDS) + 1)
    assert not alive(gate)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=slow)])
@pytest.mark.parametrize(
    ("number", "times", "end"),
    [
        pytest.param(signal.SIGINT, 1, "wait", marks=slow),
        pytest.param(signal.SIGINT, 1, "wait-for-ever", marks=slow),
        pytest.param(signal.SIGINT, 2, "wait-for-ever", marks=slow),
        pytest.param(signal.SIGTERM, 1, "wait", marks=slow),
        (signal.SIGKILL, 1, "wait-for-ever"),
    ],
)
def test_nothing_is_left_when_a_run_is_ended(  # noqa: PLR0913  # a matrix
    tmp_path: Path, gate: Path, number: int, times: int, end: str, workers: int
) -> None:
    (gate / "end").write_text(end)
    with run(tmp_path / "study", "--workers", workers) as process:
        wait_for_start(gate, workers)
        for _ in range(times):
            process.send_signal(number)
            time.sleep(0.3)  # two at the same time would be one
        process.communicate(timeout=LONGEST)  # the output is closed by all
    wait_for_end(gate)
    assert len(started_pids(gate)) == workers * (len(KINDS) + 1)


@slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_daemon_does_not_keep_the_output_of_a_run_open(
    tmp_path: Path, gate: Path, workers: int
) -> None:
    with run(tmp_path / "study", "--workers", workers, "--show-output") as process:
        process.communicate(timeout=LONGEST)  # until nobody has the output open
    assert process.returncode == 0 and len(started_pids(gate)) == 2 * (len(KINDS) + 1)
    assert not alive(gate)


@pytest.mark.parametrize(
    "victims",
    [
        ["server"],
        pytest.param(["inner"], marks=slow),
        pytest.param(["middle"], marks=slow),
        pytest.param(["outer"], marks=slow),
        pytest.param(["worker", "server"], marks=slow),
        pytest.param(["worker", "inner"], marks=slow),
        pytest.param(["worker", "middle"], marks=slow),
        pytest.param(["worker", "outer"], marks=slow),
        pytest.param(["trial"], marks=slow),
        pytest.param(["outer", "trial"], marks=slow),
        pytest.param(["trial", "server"], marks=slow),
        pytest.param(["worker", "trial"], marks=slow),
        pytest.param(["worker", "inner", "outer"], marks=slow),
        pytest.param(["worker", "middle", "outer"], marks=slow),
        pytest.param(["worker", "server", "inner"], marks=slow),
        pytest.param(["worker", "server", "inner", "outer"], marks=slow),
    ],
)
def test_nothing_is_left_when_guards_are_killed(
    tmp_path: Path, gate: Path, victims: list[str]
) -> None:
    (gate / "end").write_text("wait-for-ever")
    with run(tmp_path / "study") as process:
        wait_for_start(gate)
        pids = chain(gate)
        assert pids["worker"] == process.pid
        for victim in victims:
            os.kill(pids[victim], signal.SIGKILL)
        first = {name for name in alive(gate) if name.endswith("-0-1")}
        wait_until(lambda: not first & {*alive(gate)}, "the end of the first attempt's processes")
        process.kill()
    wait_for_end(gate)


@slow
@pytest.mark.parametrize("who", ["worker", "server", "outer", "middle", "inner", "trial"])
def test_nothing_is_left_when_a_process_group_is_killed(
    tmp_path: Path, gate: Path, who: str
) -> None:
    (gate / "end").write_text("wait-for-ever")
    with run(tmp_path / "study") as process:
        wait_for_start(gate)
        os.killpg(os.getpgid(chain(gate)[who]), signal.SIGKILL)
        wait_until(lambda: not [n for n in alive(gate) if n.endswith("-0-1")], "their end")
        process.kill()
    wait_for_end(gate)


def chain(gate: Path) -> dict[str, int]:
    """The processes above the first trial's own, from the bottom to the top."""
    pids = {"trial": started_pids(gate, TRIAL)[f"{TRIAL}-0-1"]}
    below = "trial"
    for name in ("server", "inner", "middle", "outer", "worker"):
        pids[name] = parent(pids[below])
        below = name
    return pids


def survives_signals(trial: pb.Attempt) -> float:
    """Send the guards what a batch system sends to all processes of a job."""
    server = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(server, number)
        os.kill(parent(server), number)  # its guards
        os.kill(parent(parent(server)), number)
    return 0.5


def test_a_signal_to_all_processes_of_a_job_does_not_end_a_trial(tmp_path: Path) -> None:
    assert trial_end(tmp_path, survives_signals)["kinds"] == ["asked", "told"]


FORGETS = """
import os, signal
from priorband.workers.process_guard import FINISH, TERMINATE, forget_requests
signal.pthread_sigmask(signal.SIG_BLOCK, (FINISH, TERMINATE))
for number in (FINISH, TERMINATE, FINISH):
    os.kill(os.getpid(), number)
forget_requests()
raise SystemExit(len(signal.sigpending()))
"""


def test_a_request_to_end_a_trial_is_not_for_the_next_one() -> None:
    assert subprocess.run([sys.executable, "-c", FORGETS], check=False).returncode == 0


def waits_for_its_own(trial: pb.Attempt) -> dict[str, Any]:
    """Collect children in all ways that there are; orphans must not be among them."""
    signals: list[int] = []
    signal.signal(signal.SIGCHLD, lambda number, frame: signals.append(number))
    first = os.fork()
    if not first:
        if not os.fork():
            time.sleep(0.2)  # an orphan by now
        os._exit(7)
    pid, status = os.wait()
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, 0)
    code = subprocess.run(
        [sys.executable, "-S", "-c", "raise SystemExit(5)"], check=False
    ).returncode
    codes = [os.waitstatus_to_exitcode(status), code]
    return {"loss": 0.5, "own": pid == first, "codes": codes, "signals": len(signals)}


def test_a_trial_waits_for_its_own_children_only(tmp_path: Path) -> None:
    metrics = trial_end(tmp_path, waits_for_its_own)["metrics"]
    assert metrics["own"] and metrics["codes"] == [7, 5] and metrics["signals"] >= 1


def test_a_trial_does_not_end_with_the_thread_that_started_it(tmp_path: Path, gate: Path) -> None:
    (gate / "end").write_text("wait")
    task = TrialTask(0, 1, Config({"x": 0.5}), 1, True, 0, None, tmp_path, 1, False)
    started: list[TrialProcess] = []
    thread = threading.Thread(
        target=lambda: started.append(TrialProcess(starts_processes, task, show_output=True))
    )
    thread.start()
    thread.join()
    wait_for_start(gate)
    started[0].ask_to_stop("the test is over")
    messages: list[dict[str, Any]] = []
    while not any("done" in message or "end" in message for message in messages):
        messages += started[0].receive(1.0)
    started[0].close()
    assert messages[-1]["done"]["loss"] == 0.5 and not alive(gate)


def uses_processes(trial: pb.Attempt) -> float:
    """Use `multiprocessing` in all its ways, and leave the processes running."""
    gate = Path(os.environ[GATE])
    for method in ("fork", "spawn", "forkserver"):
        context: Any = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(abs, [-1, 2]) == [1, 2]
        context.Process(target=runs, args=(gate, f"{method}-0-1"), daemon=False).start()
    memory = shared_memory.SharedMemory(create=True, size=100)
    memory.close()
    memory.unlink()
    wait_until(lambda: len(started_pids(gate)) == 3, "the processes")
    return 0.5


@slow
def test_a_trial_may_use_multiprocessing(tmp_path: Path, gate: Path) -> None:
    ended = trial_end(tmp_path / "study", uses_processes)
    assert ended["kinds"] == ["asked", "told"], ended
    assert not alive(gate)


@slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install torch")
@pytest.mark.parametrize("killed", [False, True])
def test_data_loaders_are_ended_with_their_trial(tmp_path: Path, gate: Path, killed: bool) -> None:
    if not killed:
        ended = trial_end(tmp_path / "study", loads_data)
        assert ended["kinds"] == ["asked", "told"], ended
        assert len(started_pids(gate)) == 2 and not alive(gate)
        return
    (gate / "wait").touch()
    objective = ("--objective", "started_processes:loads_data")
    with run(tmp_path / "study", *objective) as process:
        wait_until(lambda: len(started_pids(gate)) == 2, "the loaders")
        process.kill()
    wait_for_end(gate)


@slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install torch")
def test_ranks_that_an_objective_starts_are_ended_with_their_worker(
    tmp_path: Path, gate: Path
) -> None:
    objective = ("--objective", "started_processes:trains_in_ranks")
    with run(tmp_path / "study", *objective) as process:
        wait_until(lambda: len(started_pids(gate)) == 2, "the ranks")
        process.kill()
    wait_for_end(gate)


@slow
@pytest.mark.parametrize("who", ["server", "inner", "middle", "outer"])
def test_a_guard_that_was_stopped_does_not_keep_a_trial_alive(
    tmp_path: Path, gate: Path, who: str
) -> None:
    """A guard cannot block SIGSTOP. The worker, or the other guard, then does without it."""
    (gate / "end").write_text("wait")
    with run(tmp_path / "study") as process:
        wait_for_start(gate)
        os.kill(chain(gate)[who], signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONGEST)
    wait_for_end(gate)
