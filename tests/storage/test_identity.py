"""Whether a process lives, tried on real processes that live, die and take each other's pids."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from waiting import LONGEST, wait_until

from priorband.storage.identity import Owner, die_with_parent, liveness, this_process, worker_name
from priorband.values import replaced

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")

SLEEPER = ["sh", "-c", "echo ready; read line"]
IMPORT = "import os, signal, sys\nfrom priorband.storage.identity import *\n"


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended and waited for afterwards."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    """The next line from a process."""
    assert process.stdout
    return process.stdout.readline().strip()


def owner_of(pid: int) -> Owner:
    """A process on this machine, by a reading of its own of the kernel's file."""
    text = Path(f"/proc/{pid}/stat").read_text()
    found = re.fullmatch(r"(?s)\d+ \(.*\) (?:\S+ ){19}(\d+) .*", text)
    assert found
    return replaced(this_process(), pid=pid, started=found[1])


def elsewhere(change: Callable[[str, str], str]) -> str:
    """This place with another boot id or namespace."""
    boot, _, namespace = this_process().place.partition("/")
    return change(boot, namespace)


def script(body: str, *before: str) -> subprocess.CompletedProcess[str]:
    """A Python process that knows the module, after other words of its command line."""
    command = [*before, sys.executable, "-c", IMPORT + body]
    return subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)


def test_this_process_is_alive_and_the_same_at_each_look() -> None:
    assert liveness(this_process()) == "alive"
    assert this_process() is this_process()
    assert this_process().pid == os.getpid()
    assert all((this_process().host, this_process().machine, this_process().place))


@linux
def test_the_own_start_time_is_the_kernels() -> None:
    assert this_process() == owner_of(os.getpid())


def test_a_forked_child_is_another_process() -> None:
    done = script(
        "parent = this_process()\n"
        "if os.fork() == 0:\n"
        "    child = this_process()\n"
        "    assert child != parent and child.pid == os.getpid() and child.place == parent.place\n"
        "    assert liveness(child) == liveness(parent) == 'alive'\n"
        "    os._exit(0)\n"
        "assert os.wait()[1] == 0 and this_process() == parent"
    )
    assert not done.returncode, done.stderr


@linux
def test_a_process_is_alive_then_a_zombie_then_gone() -> None:
    with running(*SLEEPER) as process:
        said(process)
        owner = owner_of(process.pid)
        assert liveness(owner) == "alive"
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not waited for
        assert Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "Z"
        assert liveness(owner) == "dead"
        process.wait()
        assert liveness(owner) == "dead"


@linux
def test_a_stopped_process_is_alive() -> None:
    with running(*SLEEPER) as process:
        said(process)
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert liveness(owner_of(process.pid)) == "alive"


@linux
def test_a_pid_that_another_process_got_is_not_its_first_owner() -> None:
    with running(*SLEEPER) as process:
        said(process)
        owner = owner_of(process.pid)
        earlier = str(int(owner.started) - 1)
        assert liveness(replaced(owner, started=earlier)) == "dead"
        assert liveness(replaced(owner, started="")) == "alive"


@linux
@pytest.mark.parametrize("name", [")) (", ") Z 1 1 1", "a b", "()", "\n) X 2", "ü ("])
def test_a_name_with_brackets_and_blanks_misleads_nobody(name: str) -> None:
    named = 'printf %s "$1" > /proc/self/comm && echo ready; read line'
    with running("sh", "-c", named, "sh", name) as process:
        assert said(process) == "ready"
        assert f"({name})" in Path(f"/proc/{process.pid}/stat").read_text()
        owner = owner_of(process.pid)
        assert liveness(owner) == "alive"
        assert liveness(replaced(owner, started="1")) == "dead"


def test_a_reboot_ends_all_processes_of_its_machine_and_of_no_other() -> None:
    before = replaced(this_process(), place=elsewhere(lambda _, space: f"another-boot/{space}"))
    assert liveness(before) == "dead"
    assert liveness(replaced(before, host="renamed")) == "dead"
    assert liveness(replaced(before, machine="another")) == "unknown"
    assert liveness(replaced(before, place="/" + before.machine)) == "unknown"  # a boot not known


def test_nothing_is_said_of_another_pid_namespace_or_of_no_process() -> None:
    assert (
        liveness(replaced(this_process(), place=elsewhere(lambda boot, _: f"{boot}/pid:[1]")))
        == "unknown"
    )
    for pid in (0, -1):
        assert liveness(replaced(this_process(), pid=pid)) == "unknown"


@pytest.mark.parametrize("pid", [2**22 + 1, 2**31 - 1, 2**31, 2**80])
def test_a_pid_that_no_process_can_have_is_dead(pid: int) -> None:
    assert liveness(replaced(this_process(), pid=pid)) == "dead"


@linux
def test_looking_leaves_no_file_open() -> None:
    owners = [replaced(this_process(), pid=pid) for pid in (os.getpid(), 2**22 + 1)]
    for owner in owners:  # the first look at a living process takes a hold of it, and keeps it
        liveness(owner)
    before = {*os.listdir("/proc/self/fd")}
    for owner in owners * 100:
        liveness(owner)
    assert {*os.listdir("/proc/self/fd")} <= before


def in_another_namespace(*more: str) -> list[str]:
    """The words before a command that let it run in a pid namespace of its own."""
    words = ["unshare", "--pid", "--fork", "--kill-child", *more]
    try:
        tried = subprocess.run([*words, "true"], capture_output=True, text=True)
    except OSError as problem:
        pytest.skip(f"no pid namespace here: {problem}")
    if tried.returncode:
        pytest.skip(f"no pid namespace here: {tried.stderr.strip()}")
    return words


@linux
def test_processes_of_two_pid_namespaces_know_nothing_of_each_other() -> None:
    words = in_another_namespace("--mount-proc")
    body = (
        "print(this_process(), flush=True)\n"
        f"print(liveness(this_process()), liveness({this_process()}), flush=True)\ninput()"
    )
    with running(*words, sys.executable, "-c", IMPORT + body) as process:
        inside: Owner = eval(said(process))
        assert inside.pid == 1 and inside.started
        assert inside.machine == this_process().machine and inside.place != this_process().place
        assert liveness(inside) == "unknown"  # although there is a process 1 here, too
        assert said(process) == "alive unknown"


@linux
def test_a_proc_of_another_pid_namespace_is_not_believed() -> None:
    body = (
        "assert this_process().pid == 1 and not this_process().started, this_process()\n"
        "me = this_process()\n"
        "gone = Owner(me.host, me.machine, me.place, 4000, '7')\n"
        "print(liveness(this_process()), liveness(gone))"
    )
    done = script(body, *in_another_namespace())
    assert done.stdout == "alive dead\n", done.stderr


@linux
def test_a_process_that_proc_hides_is_not_called_dead() -> None:
    """With `hidepid`, another user's process has no folder in /proc."""
    words = in_another_namespace("--mount-proc")
    body = (
        "import subprocess\n"
        "done = subprocess.run('mount -t proc -o hidepid=2 proc /proc', shell=True)\n"
        "this_process()\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "me = this_process()\n"
        "other = Owner(me.host, me.machine, me.place, int(sys.argv[1]), '7')\n"
        "print(done.returncode, os.path.exists('/proc/1/stat'), liveness(other))\n"
    )
    shell = '"$0" -c "$1" 1; "$0" -c "$1" 4000'
    command = [*words, "sh", "-c", shell, sys.executable, IMPORT + body]
    done = subprocess.run(command, capture_output=True, text=True)
    if "0 False" not in done.stdout:
        pytest.skip(f"hidepid does not work here: {done.stdout} {done.stderr}")
    assert done.stdout == "0 False unknown\n0 False dead\n"


def test_every_worker_has_a_name_of_its_own() -> None:
    names = [worker_name() for _ in range(5000)]
    assert len(set(names)) == 5000
    assert all(re.fullmatch(rf"\S+-{os.getpid()}-[0-9a-f]{{6}}", name) for name in names)


def test_a_host_name_cannot_write_on_a_terminal() -> None:
    done = script(
        "from types import SimpleNamespace\n"
        "os.uname = lambda: SimpleNamespace(nodename='gpu\\x1b[2J\\n3 \\udcff\\u202e')\n"
        "print(ascii(this_process().host), ascii(worker_name()))"
    )
    host, name = done.stdout.split()
    assert host == "'gpu?[2J?3???'"
    assert re.fullmatch(r"'gpu\?\[2J\?3\?\?\?-\d+-[0-9a-f]{6}'", name)


@linux
def test_a_child_dies_with_its_killed_parent() -> None:
    child = "die_with_parent(signal.SIGKILL, os.getppid())\nprint('ready', flush=True)\ninput()"
    parent = (
        "import subprocess\n"
        f"child = subprocess.Popen([sys.executable, '-c', {IMPORT + child!r}])\n"
        "print(child.pid, flush=True)\n"
        "child.wait()"
    )
    with running(sys.executable, "-c", IMPORT + parent) as process:
        pid, ready = sorted([said(process), said(process)])
        assert ready == "ready"
        owner = owner_of(int(pid))
        assert liveness(owner) == "alive"
        process.kill()  # the child's input stays open: only the signal ends it
        wait_until(lambda: liveness(owner) == "dead", "the child to die")


@linux
def test_a_child_whose_parent_is_dead_already_dies_at_once() -> None:
    done = script("die_with_parent(signal.SIGTERM, os.getppid() + 1)\nprint('still here')")
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "")


@linux
def test_a_number_that_is_no_signal_is_refused() -> None:
    with pytest.raises(OSError, match="refused signal 1000 .* Give the number of a signal"):
        die_with_parent(1000, os.getppid())
