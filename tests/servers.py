"""Real PostgreSQL servers for the tests: private, on a port of their own, gone when the tests are.

Run as a program, this file is the guard that ends a server whose tests were killed.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

PATIENCE = 120.0
"""Seconds that a server may take to start or to stop."""


class Server:
    """A PostgreSQL server with a fresh cluster, not started yet. It ends with this process.

    Args:
        settings: settings of the server, such as `max_connections=20`.
    """

    in_memory = False
    """Whether its files are in memory, if there is room. A benchmark needs a disk."""

    def __init__(self, **settings: object) -> None:
        self.settings = settings
        place = memory_folder() if self.in_memory else ""
        self.folder = Path(tempfile.mkdtemp(prefix="priorband-postgres-", dir=place or "/tmp"))
        self.data = self.folder / "data"
        self.port = free_port()
        self.password = os.urandom(8).hex()
        self._user = _unprivileged_user()
        self._postmaster: subprocess.Popen[bytes] | None = None
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(self.folder)],
            start_new_session=True,
        )
        self._make_cluster()

    @property
    def pid(self) -> int:
        """The postmaster's pid; 0 while the server is down."""
        postmaster = self._postmaster
        return postmaster.pid if postmaster and postmaster.poll() is None else 0

    @property
    def log(self) -> str:
        """What the server has said."""
        return (self.folder / "log").read_text(errors="replace")

    def url(self, database: str = "postgres") -> str:
        """Where to connect to, password included."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/{database}"

    def cpu_seconds(self) -> float:
        """How long the server's processes have computed since its start, ended ones included."""
        ticks = 0
        for pid in _processes_in(self.data):
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:15] if pid == self.pid else fields[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def start(self) -> None:
        """Start the server, and return when it answers. Nothing happens when it is up."""
        if self.pid:
            return
        settings: dict[str, object] = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.folder,
            "max_connections": 60,
            "shared_buffers": "8MB",
            "fsync": "on",
            "dynamic_shared_memory_type": "mmap",  # in the cluster's folder, and gone with it
        } | self.settings
        self._postmaster = self._run(
            "postgres", *(f"--{name}={value}" for name, value in settings.items())
        )
        _wait(self._ready, "The server does not become ready.")

    def stop(self) -> None:
        """Shut down in order: connections are cut off, nothing is lost."""
        if self.pid and self._postmaster:
            self._postmaster.send_signal(signal.SIGINT)
            self._postmaster.send_signal(signal.SIGCONT)
            self._postmaster.wait(PATIENCE)

    def kill(self) -> None:
        """End the postmaster and all of its children with SIGKILL, in the middle of anything."""
        if self.pid and self._postmaster:
            # It must start no more children, and they must not hear of its death and say goodbye.
            self._postmaster.send_signal(signal.SIGSTOP)
            _send(signal.SIGKILL, {*_processes_in(self.data)} - {self._postmaster.pid})
            _end_all_in(self.data, [signal.SIGKILL], reap=self._postmaster.poll)

    def restart(self) -> None:
        """Start again after `kill` or `stop`; a server that is up is stopped first."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop for good, and leave nothing behind."""
        if self.pid and self._postmaster:
            self._postmaster.send_signal(signal.SIGQUIT)  # quicker: nothing is written any more
            try:
                self._postmaster.wait(PATIENCE / 4)
            except subprocess.TimeoutExpired:
                self.kill()
        _free_memory(self.data)
        self._guard.kill()
        self._guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_cluster(self) -> None:
        secret = self.folder / "password"
        secret.write_text(self.password)
        if self._user:
            shutil.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
            shutil.chown(secret, self._user.pw_uid)
        options = ["--username=postgres", "--auth=scram-sha-256", f"--pwfile={secret}"]
        options += ["--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        if self._run("initdb", *options).wait():
            log = self.log
            self.close()
            raise RuntimeError(f"initdb failed: {log}")

    def _run(self, program: str, *options: str) -> subprocess.Popen[bytes]:
        user = self._user
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                [_binary(program), "-D", str(self.data), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
                user=user.pw_uid if user else None,
                group=user.pw_gid if user else None,
                extra_groups=[] if user else None,
            )

    def _ready(self) -> bool:
        pid = self.pid
        if not pid:
            raise RuntimeError(f"The server did not start: {self.log[-2000:]}")
        lines = _lock_file(self.data)
        return lines[:1] == [str(pid)] and lines[7:8] == ["ready"]


class MemoryServer(Server):
    """A server for tests that do not ask how long a sync takes."""

    in_memory = True


class Pooler:
    """PgBouncer in front of a server. It ends with `close`, or when its server's folder is gone."""

    def __init__(self, server: Server, mode: str, connections: int) -> None:
        self.port = free_port()
        self._server = server
        folder = Path(tempfile.mkdtemp(prefix="pgbouncer-", dir=server.folder))
        (folder / "users").write_text(f'"postgres" "{server.password}"')
        (folder / "ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"auth_type = plain\nauth_file = {folder / 'users'}\n"
            f"pool_mode = {mode}\ndefault_pool_size = {connections}\n"
        )
        user = _unprivileged_user()
        if user:
            for path in (folder, folder / "users", folder / "ini"):
                shutil.chown(path, user.pw_uid, user.pw_gid)
        with open(folder / "log", "wb") as log:
            self._process = subprocess.Popen(
                [_pgbouncer(), str(folder / "ini")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=server.data,  # the guard ends all that work there
                user=user.pw_uid if user else None,
                group=user.pw_gid if user else None,
                extra_groups=[] if user else None,
            )
        _wait(self._ready, "PgBouncer does not become ready.")

    def url(self) -> str:
        """Where to connect to, password included."""
        return self._server.url().replace(f":{self._server.port}/", f":{self.port}/")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    def _ready(self) -> bool:
        assert self._process.poll() is None, "PgBouncer did not start"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def memory_folder() -> str:
    """Where files are in memory, if there is at least 1 GiB left; empty if there is no such place.

    A sync to a slow disk takes longer than most tests.
    """
    with suppress(OSError):
        if shutil.disk_usage("/dev/shm").free >= 1 << 30:
            return "/dev/shm"
    return ""


def lacking_pooler() -> str:
    """What is missing to run PgBouncer; empty if nothing is."""
    if _pgbouncer():
        return lacking()
    return "PgBouncer is not installed: `scripts/install dev` as root installs it"


def _pgbouncer() -> str:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or ""


def fresh_url(server: Server | Pooler) -> str:
    """A URL with a study name that no other test has."""
    return f"{server.url()}#study-{os.urandom(6).hex()}"


def lacking() -> str:
    """What is missing to run a server and to talk to it; empty if nothing is."""
    if not Path("/proc/self/cwd").exists():
        return "PostgreSQL's tests need Linux's /proc"
    if not _binary("postgres") or not _binary("initdb"):
        return "PostgreSQL's server is not installed: `scripts/install dev` as root installs it"
    try:
        import psycopg  # noqa: F401  # only whether it is there
    except ImportError as problem:
        return f"psycopg is missing ({problem}): install priorband[postgres]"
    return ""


def _binary(name: str) -> str:
    """The path of the newest of PostgreSQL's programs with a name; empty if there is none."""
    folders = [str(path) for path in Path("/usr/lib/postgresql").glob("*/bin")]
    folders.sort(key=lambda folder: int("".join(filter(str.isdigit, folder)) or 0), reverse=True)
    if shutil.which("pg_config"):
        asked = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True)
        folders.append(asked.stdout.strip())
    return shutil.which(name, path=os.pathsep.join(folders)) or shutil.which(name) or ""


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Who runs the server when we are root, whom it refuses; None when we are not."""
    if os.geteuid():
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


def free_port() -> int:
    """A port outside the range from which the kernel serves clients.

    From inside it, a client that tries to reach a dead server could be given the server's port.
    """
    first = 15_000 + int.from_bytes(os.urandom(2), "big") % 15_000
    for port in range(first, 32_768):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"No port is free from {first} to 32767.")


def _lock_file(data: Path) -> list[str]:
    """Lines of postmaster.pid: the pid first, shared memory seventh, the state eighth."""
    with suppress(OSError):
        return [line.strip() for line in (data / "postmaster.pid").read_text().splitlines()]
    return []


def _free_memory(data: Path) -> None:
    """Remove the shared memory that a killed server leaves, as its next start would."""
    for segment in _lock_file(data)[6:7]:
        subprocess.run(["ipcrm", "-m", segment.split()[-1]], check=False, capture_output=True)


def _processes_in(data: Path) -> list[int]:
    """All that work in a cluster's folder: its postmaster and that one's children."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(entry / "cwd") == str(data):
                found.append(int(entry.name))
    return found


def _send(number: int, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _end_all_in(
    data: Path, signals: Sequence[int], reap: Callable[[], object] = lambda: None
) -> None:
    """Send the signals, one a round and the last again and again, until nobody is left."""
    rounds = iter(signals)

    def ended() -> bool:
        number = next(rounds, signals[-1])
        left = _processes_in(data)
        _send(number, left)
        reap()
        return not left

    _wait(ended, f"Processes in {data} do not end.")


def _wait(done: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.01)


def _guard(parent: int, folder: Path) -> None:
    """Wait for the parent's death, then end the server, by force after a second, and clean up."""
    while os.getppid() == parent:
        time.sleep(0.2)
    time.sleep(0.2)  # a server that was being started is in its folder by then
    _end_all_in(folder / "data", [signal.SIGQUIT, *[0] * 100, signal.SIGKILL])
    _free_memory(folder / "data")
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _guard(int(sys.argv[1]), Path(sys.argv[2]))
