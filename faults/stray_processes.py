"""Start processes that get away, and end their trial or worker in every way: none may be left."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import final

import priorband as pb
from faults.commands import (
    FOLDER,
    PLANT,
    Done,
    command_line,
    environment,
    send_signal,
    shared_log,
    started_command,
    study_words,
    wait_for,
)
from faults.leftover_processes import is_running, kill_leftovers, mark_new_processes
from faults.parallel import run_in_parallel
from faults.planted_bugs import plant_bug
from faults.results import Check, Result, expect_none, results_of
from faults.study_setup import EPOCHS, ROOT, SPACE, Setting, StudySetup, new_setup
from faults.training import worker_pid
from faults.worker_log import LogEntry
from faults.worker_pool import wait_until
from priorband.workers.process_guard import AFTER_KILL, AFTER_TERM, descendants

FIDELITY = EPOCHS
OBJECTIVE = ("--objective", "faults.stray_processes:starts", "--space", "faults.study_setup:SPACE")
__all__ = ["FIDELITY", "SPACE", "run", "starts"]
GRACE = 1.0
LEFT_AFTER = AFTER_TERM + AFTER_KILL + 4.0
"""Seconds after which all processes of a trial must have ended, on a busy machine."""
WARM_CHAIN = ("trial", "server", "inner", "middle", "outer")
"""The processes from that of a forked trial up to its worker; the server is a guard, too."""
SLEEP = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]

plant_bug(os.environ.get(PLANT, ""))


def _child() -> None:
    subprocess.Popen(SLEEP)


def _grandchild() -> None:
    subprocess.Popen(["sh", "-c", f"{shlex.join(SLEEP)} & wait"])


def _session() -> None:
    subprocess.Popen(SLEEP, start_new_session=True)


def _nohup() -> None:
    subprocess.Popen(["sh", "-c", f"nohup {shlex.join(SLEEP)} & exit"], stdin=subprocess.DEVNULL)


def _no_environment() -> None:
    process = subprocess.Popen(SLEEP, env={}, start_new_session=True)
    shared_log().write("stray", stray=process.pid)  # it has no mark to find it by


def _daemon() -> None:
    """Fork twice, with a session of its own in between, as daemons do."""
    if not os.fork():
        os.setsid()
        if not os.fork():
            os.chdir("/")
            _sleep()
        os._exit(0)


def _deaf() -> None:
    """Ignore all signals that can be ignored."""
    if not os.fork():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        os.setsid()
        _sleep()


def _holds_output() -> None:
    """Keep the standard output open after the parent has ended."""
    code = "import os, time; os.fork() or (os.setsid(), time.sleep(600)); os._exit(0)"
    subprocess.run([sys.executable, "-S", "-c", code], check=True)


def _starts_more() -> None:
    """Start another process each time that the last one is ended."""
    code = "import os, time\nwhile os.fork():\n    os.wait()\ntime.sleep(600)"
    subprocess.Popen([sys.executable, "-S", "-c", code], start_new_session=True)


def _sleep() -> None:
    time.sleep(600)
    os._exit(0)


KINDS: dict[str, Callable[[], None]] = {
    "child": _child,
    "grandchild": _grandchild,
    "session": _session,
    "nohup": _nohup,
    "no environment": _no_environment,
    "daemon": _daemon,
    "deaf": _deaf,
    "holds output": _holds_output,
    "starts more": _starts_more,
}


def starts(trial: pb.Attempt) -> float:
    """Start a process of each kind, and return, or wait in the way that a file says."""
    for start in KINDS.values():
        start()
    time.sleep(0.2)
    log = shared_log()
    below = sorted(descendants(os.getppid()))  # its guard's: with those that lost their parent
    log.write("start", trial.id, trial.attempt, chain=_chain(), below=below)
    ending = (Path(os.environ[FOLDER]) / "ending").read_text()
    for _ in trial.steps() if ending == "waits" else ():
        for _ in range(6000):
            time.sleep(0.1)
            if trial.should_stop:
                break
    while ending == "hangs":
        time.sleep(1)
    log.write("done", trial.id, trial.attempt, loss=0.5)
    return 0.5


def _chain() -> dict[str, int]:
    """This process and those above it up to the worker, which may have a server that forks."""
    pid, worker = os.getpid(), worker_pid()
    above = []
    while pid != worker:
        above.append(pid)
        pid = _parent(pid)
    names = ("trial", "inner", "outer") if len(above) == 3 else WARM_CHAIN
    return dict(zip(names, above, strict=True)) | {"worker": worker}


def _parent(pid: int) -> int:
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    return int(text.rpartition(")")[2].split()[1])


@final
@dataclass(frozen=True)
class Ending:
    """How a worker and its trial come to their end."""

    description: str
    ending: str
    """What the objective does: it returns, waits until it is asked to stop, or hangs."""
    words: tuple[object, ...] = ()
    signals: tuple[int, ...] = ()
    """What is sent to the worker."""
    victims: tuple[str, ...] = ()
    """Who is killed by SIGKILL, by the names in `_chain`."""
    promised: bool = True
    """Whether all processes are ended, and not only the trial's own."""
    start: str = "warm"


ENDINGS = (
    Ending("ended normally", "returns"),
    Ending("ended by a time limit", "hangs", ("--trial-seconds", 3)),
    Ending("Ctrl-C", "waits", signals=(signal.SIGINT,)),
    Ending("Ctrl-C, hangs", "hangs", signals=(signal.SIGINT,)),
    Ending("Ctrl-C twice", "hangs", ("--grace", 60), signals=(signal.SIGINT, signal.SIGINT)),
    Ending("SIGTERM", "waits", signals=(signal.SIGTERM,)),
    Ending("two workers, SIGTERM", "waits", ("--workers", 2), signals=(signal.SIGTERM,)),
    Ending("kill -9 of the worker", "hangs", victims=("worker",)),
    Ending("kill -9 of the trial's process", "hangs", victims=("trial",)),
    Ending("kill -9 of the server", "hangs", victims=("server",)),
    Ending("kill -9 of the inner guard", "hangs", victims=("inner",)),
    Ending("kill -9 of the middle guard", "hangs", victims=("middle",)),
    Ending("kill -9 of the outer guard", "hangs", victims=("outer",)),
    Ending("kill -9 of worker and inner guard", "hangs", victims=("worker", "inner")),
    Ending("kill -9 of worker and outer guard", "hangs", victims=("worker", "outer")),
    Ending("kill -9 of worker and middle guard", "hangs", victims=("worker", "middle")),
    Ending("kill -9 of worker and server", "hangs", victims=("worker", "server")),
    Ending("kill -9 of worker and two guards", "hangs", victims=("worker", "outer", "inner")),
    Ending(
        "kill -9 of worker, server and two guards",
        "hangs",
        victims=("worker", "outer", "inner", "server"),
    ),
    Ending(
        "kill -9 of worker and all three guards",
        "hangs",
        victims=("worker", "outer", "middle", "inner"),
        promised=False,
    ),
)
COLD_ENDINGS = (
    *(
        replace(one, description=f"{one.description}, cold start", start="cold")
        for one in ENDINGS
        if not {"server", "middle"} & {*one.victims} and len(one.victims) < 3
    ),
    Ending(
        "kill -9 of worker and both guards, cold start",
        "hangs",
        victims=("worker", "outer", "inner"),
        promised=False,
        start="cold",
    ),
)


def run(setting: Setting, *, endings: int, cold: int, times: int) -> Iterator[Result]:
    """End a trial whose objective has left processes of each kind; then read from a pipe."""
    kinds = (*ENDINGS[:endings], *COLD_ENDINGS[:cold])
    chosen = [one for one in kinds for _ in range(times)]
    answers = run_in_parallel([partial(_end, setting, one) for one in chosen], at_once=6)
    for one in kinds:
        same = [answer for ending, answer in zip(chosen, answers, strict=True) if ending == one]
        action = f"{one.description}, {times} times" if times > 1 else one.description
        yield from results_of("strays", setting.storage, action, _checks(one, same))
    pipes = run_in_parallel([partial(_piped, setting, workers) for workers in (1, 2)])
    for workers, check in zip((1, 2), pipes, strict=True):
        action = f"`priorband run --workers {workers} --show-output | cat`"
        yield from results_of("strays", setting.storage, action, [check])


Left = tuple[int, list[str], list[str]]
"""How many processes were started, which are left, and other problems."""


def _checks(one: Ending, answers: list[Left]) -> Iterator[Check]:
    started = sum(number for number, _, _ in answers)
    left = [text for _, texts, _ in answers for text in texts]
    problems = [text for _, _, texts in answers for text in texts]
    if one.promised:
        yield expect_none(left, "processes left", started)
    else:
        text = f"{len(left)} of {started} processes left, not the trial's own"
        yield Check(text, "not promised", passed=True)
    yield expect_none(problems, "other problems")


def _end(setting: Setting, one: Ending) -> Left:
    with new_setup(setting) as setup:
        mark = mark_new_processes()
        (setup.folder / "ending").write_text(one.ending)
        words = ("run", *study_words(setup), *OBJECTIVE, "--trials=2", "--grace", GRACE, *one.words)
        words += ("--start", one.start)
        with started_command(setup, *words) as process:
            trials = 2 if "--workers" in one.words else 1
            wait_until(
                lambda: len(_starts(setup)) >= trials or process.poll() is not None, "the trial"
            )
            first = _starts(setup)[:trials]
            for number in one.signals:
                send_signal(process, number)
                time.sleep(0.4)
            for victim in one.victims:
                os.kill(first[0].details["chain"][victim], signal.SIGKILL)
            problems = []
            if (
                one.victims and "worker" not in one.victims
            ):  # the worker goes on, with the next attempt
                problems += _wait_for_end_of(first[0])
                process.kill()
            done = wait_for(process, 60)
            problems += [] if done.code is not None else ["the worker did not end"]
        pids = {pid for entry in _starts(setup) for pid in entry.details["below"]}
        entries = setup.log.all_entries()
        pids |= {e.details["stray"] for e in entries if e.event == "stray"}
        if not one.promised:
            problems += _own_process_left(first)
        left = _left(pids, mark)
        return len(pids), left, problems


def _wait_for_end_of(first: LogEntry) -> list[str]:
    """Wait until the processes of an attempt are gone; those that are not."""
    pids = first.details["below"]
    deadline = time.monotonic() + LEFT_AFTER
    while (alive := [pid for pid in pids if is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"process {pid} of the first attempt" for pid in alive]


def _own_process_left(first: list[LogEntry]) -> list[str]:
    """The process of the trial itself dies with its guard."""
    own = first[0].details["chain"]["trial"]
    deadline = time.monotonic() + LEFT_AFTER
    while is_running(own) and time.monotonic() < deadline:
        time.sleep(0.05)
    return ["the trial's own process"] if is_running(own) else []


def _left(pids: set[int], mark: str) -> list[str]:
    """The processes that have not ended after a while. They are killed."""
    deadline = time.monotonic() + LEFT_AFTER
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [f"process {pid}" for pid in pids if is_running(pid)]
    for pid in pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)
    more = kill_leftovers(mark, 0.0 if left else 5.0)
    return sorted({*left, *more})


def _starts(setup: StudySetup) -> list[LogEntry]:
    return [entry for entry in setup.log.all_entries() if entry.event == "start"]


def _piped(setting: Setting, workers: int) -> Check:
    """Whether the reader of the output comes to its end."""
    with new_setup(setting) as setup:
        mark = mark_new_processes()
        (setup.folder / "ending").write_text("returns")
        words = ("--trials=2", "--workers", workers, "--show-output")
        line = shlex.join(command_line(setup, "run", *study_words(setup), *OBJECTIVE, *words))
        with subprocess.Popen(
            ["sh", "-c", f"{line} 2>&1 | cat"],
            cwd=ROOT,
            env=environment(setup),
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as shell:
            try:
                output = shell.communicate(timeout=90)[0].decode(errors="replace")
                done = Done(shell.returncode, output)
            except subprocess.TimeoutExpired:
                done = Done(None, "")
            left = kill_leftovers(mark, LEFT_AFTER)
        problems = [done.problem] if done.problem else []
        problems += [] if "budget" in done.output else [f"it said {done.last_words!r}"]
        return expect_none(problems + left, "processes left, or other problems")
