"""The dashboard at 50,000 trials, beside optuna-dashboard on an equal study in the same run.

    python benchmarks/dashboard.py [--trials 50000] [--study FOLDER] [--peer PYTHON]
                                   [--idle 30] [--rounds 3] [--skip-workers]

It needs a browser (chromium; set CHROMIUM to another) and the extra `browser-tests`. The peer needs
a Python with optuna and optuna-dashboard, such as a virtual environment of its own:

    python -m venv peers && peers/bin/pip install optuna optuna-dashboard
    python benchmarks/dashboard.py --peer peers/bin/python

Measured in a browser window of 1280 x 800, each in a new context with an empty cache:

- first paint: from the address to the best value of the study and its first chart
- trials: from the click on the tab to the first trials of the list
- filter: from a typed filter to the number of trials that pass it (ours waits 150 ms after a key)
- parallel: from the click on the tab to all lines drawn
- memory: JavaScript's heap after these, and the server's peak

The equal study of Optuna has the same parameters, values and states, inserted into its tables.
Then the CPU of our server while the page is open and nothing happens, and the trials a second of 8
workers with the page open and without, in turns. Only ratios of the same run say something: the
machine may be busy.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import priorband as pb
from benchmarks.large_study import make
from priorband.study_analysis import config_columns, study_data

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WAIT = 200_000  # milliseconds after which something counts as never shown
GOAL = 10.0  # times quicker than the peer
IDLE_GOAL = 0.01  # of one core
LOSS_GOAL = 0.05  # of the workers' throughput
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
ENTER_TRIALS = """
import json, sqlite3, sys
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, distribution_to_json
place, path = sys.argv[1:]
optuna.logging.set_verbosity(optuna.logging.ERROR)
optuna.create_study(study_name="large", storage=f"sqlite:///{path}")
data = json.load(open(place))
link = sqlite3.connect(path)
states = {"running": "RUNNING", "succeeded": "COMPLETE", "failed": "FAIL"}
trials, params, values = [], [], []
at = "2026-01-01 00:00:00.000000"
kinds = [distribution_to_json(CategoricalDistribution(one["labels"]) if one["labels"] else
         FloatDistribution(one["low"], one["high"], log=one["log"])) for one in data["parameters"]]
for i, state in enumerate(data["status"]):
    trials.append((i + 1, i, 1, states[state], at, None if state == "running" else at))
    for one, kind in zip(data["parameters"], kinds):
        if one["value"][i] is not None:
            params.append((i + 1, one["name"], one["value"][i], kind))
    if state == "succeeded":
        values.append((i + 1, 0, data["value"][i], "FINITE"))
link.executemany("insert into trials (trial_id, number, study_id, state, datetime_start,"
                 " datetime_complete) values (?, ?, ?, ?, ?, ?)", trials)
link.executemany("insert into trial_params (trial_id, param_name, param_value, distribution_json)"
                 " values (?, ?, ?, ?)", params)
link.executemany("insert into trial_values (trial_id, objective, value, value_type)"
                 " values (?, ?, ?, ?)", values)
link.commit()
"""
"""Makes the study of the peer, with the peer's own Python."""
WORKERS = """
import sys, time
import priorband as pb
sys.path.insert(0, sys.argv[3])
from benchmarks.dashboard import busy
began = time.monotonic()
pb.tune(busy, pb.Space(x=pb.Float(0, 1)), pb.Fidelity("epochs", 1, 9), method="asha",
        budget=pb.Budget(trials=int(sys.argv[2])), workers=8, study=sys.argv[1], show="quiet",
        start="same-process")
print(time.monotonic() - began)
"""


def busy(trial: pb.Attempt) -> float:
    """A trial of some milliseconds of computing."""
    total = 0.0
    for step in range(20_000):
        total += (step * trial.config["x"]) % 1.0
    return total


@contextmanager
def process(command: list[str], ready: Callable[["subprocess.Popen[str]"], str]) -> Iterator[Any]:
    """A server, with its address."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        try:
            yield running.pid, ready(running)
        finally:
            running.terminate()
            assert running.stdout is not None
            running.stdout.close()


def own_server(folder: Path) -> Any:
    """Our dashboard over a folder."""
    command = [sys.executable, "-m", "priorband", "dashboard", str(folder)]

    def address(running: "subprocess.Popen[str]") -> str:
        assert running.stdout is not None
        return running.stdout.readline().split()[-1]

    return process(command, address)


def peer_server(python: str, path: Path) -> Any:
    """optuna-dashboard over a database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tool = str(Path(python).with_name("optuna-dashboard"))
    command = [tool, f"sqlite:///{path}", "--port", str(port), "--host", "127.0.0.1"]

    def address(running: "subprocess.Popen[str]") -> str:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                assert running.poll() is None, "optuna-dashboard has ended"
                time.sleep(0.1)
            else:
                return f"http://127.0.0.1:{port}/dashboard/"

    return process(command, address)


def seconds(action: Callable[[], Any]) -> float:
    """How long something takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def heap(page: "Page") -> float:
    """MiB of JavaScript's heap after a collection, with the contents of arrays."""
    link = page.context.new_cdp_session(page)
    link.send("HeapProfiler.collectGarbage")
    found = link.send("Runtime.getHeapUsage")
    return float(found["usedSize"] + found.get("backingStorageSize", 0.0)) / 2**20


def memory(pid: int) -> float:
    """MiB of a process at its peak."""
    text = Path(f"/proc/{pid}/status").read_text()
    line = next(one for one in text.splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def cpu(pid: int) -> float:
    """CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def opened(browser: "Browser") -> Iterator["Page"]:
    """A page in a new context."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT)
    try:
        yield context.new_page()
    finally:
        context.close()


def measure_own(browser: "Browser", address: str, trials: int) -> dict[str, float]:
    """The figures of our page."""
    found = dict[str, float]()
    base = address.partition("?")[0]
    with opened(browser) as page:
        page.goto(address)
        study = page.evaluate("fetch('/api/studies').then((r) => r.json())")[0]["id"]
        state = page.context.storage_state()
    context = browser.new_context(viewport={"width": 1280, "height": 800}, storage_state=state)
    context.set_default_timeout(WAIT)
    page = context.new_page()

    def paint() -> None:
        page.goto(f"{base}#/{study}/overview", wait_until="commit")
        page.locator(".tiles").wait_for()
        page.locator("figure.chart canvas").first.wait_for()

    found["first paint"] = seconds(paint)

    def listed() -> None:
        page.get_by_role("link", name="Trials", exact=True).click()
        page.locator(".trial-row").first.wait_for()

    found["trials"] = seconds(listed)

    def narrow() -> None:
        page.get_by_label("Filter", exact=True).fill("dropout < 0.3 and optimizer = adam")
        page.locator("#filter-state").get_by_text(" of ").wait_for()

    found["filter"] = seconds(narrow)
    page.get_by_role("button", name="Clear the filter").click()
    page.locator("#filter-state").get_by_text(" of ").wait_for(state="detached")

    def parallel() -> None:
        page.get_by_role("link", name="Parallel", exact=True).click()
        page.locator(f'.parallel canvas[data-drawn="{trials}"]').first.wait_for(state="attached")

    found["parallel"] = seconds(parallel)
    found["page MiB"] = heap(page)
    context.close()
    return found


def measure_peer(browser: "Browser", address: str) -> dict[str, float]:
    """The figures of optuna-dashboard; nothing for what is never shown."""
    from playwright.sync_api import TimeoutError as Never

    found = dict[str, float]()
    with opened(browser) as page:

        def paint() -> None:
            page.goto(f"{address}studies/1", wait_until="commit")
            page.locator(".js-plotly-plot .scatterlayer .point").first.wait_for(state="attached")

        def parallel() -> None:
            page.get_by_text("Analytics", exact=True).click()
            page.locator(".parcoords").first.wait_for(state="attached")

        def listed() -> None:
            page.get_by_text("Trials (List)", exact=True).click()
            page.get_by_text("Trial 0", exact=False).first.wait_for()

        for name, action in (("first paint", paint), ("parallel", parallel), ("trials", listed)):
            try:
                found[name] = seconds(action)
            except Never:
                print(f"optuna-dashboard: {name} not within {WAIT / 1000:.0f} s", flush=True)
                break  # what follows needs the same data
        found["page MiB"] = heap(page)
    return found


def write_equal_study(where: Path, python: str, path: Path) -> None:
    """The same trials for the peer."""
    with pb.open_study(where, read_only=True) as study:
        table = config_columns(study_data(study))
    plain = {
        "status": [table.statuses[code] for code in table.status.tolist()],
        "value": [None if value != value else value for value in table.value.tolist()],
        "parameters": [
            {
                "name": one.name,
                "labels": list(one.labels),
                "low": one.low,
                "high": one.high,
                "log": one.log,
                "value": [None if value != value else value for value in one.value.tolist()],
            }
            for one in table.parameters
        ],
    }
    passed = path.with_suffix(".json")
    passed.write_text(json.dumps(plain))
    subprocess.run([python, "-c", ENTER_TRIALS, str(passed), str(path)], check=True)


def idle_share(browser: "Browser", folder: Path, wait: float) -> float:
    """The share of a core that the server takes while the page is open and nothing happens."""
    with own_server(folder) as (pid, address), opened(browser) as page:
        page.goto(address)
        page.get_by_role("link", name="large").click()
        page.locator(".tiles").wait_for()
        time.sleep(5)
        before = cpu(pid)
        time.sleep(wait)
        return (cpu(pid) - before) / wait


def worker_rate(browser: "Browser | None", folder: Path, trials: int) -> float:
    """Trials a second of 8 workers, with the dashboard open if there is a browser."""
    study = folder / "workers" / f"{time.monotonic_ns()}"
    pb.open_study(study, pb.Space(x=pb.Float(0, 1)), pb.Fidelity("epochs", 1, 9), "asha").close()
    command = [
        sys.executable,
        "-c",
        WORKERS,
        str(study),
        str(trials),
        str(Path(__file__).parents[1]),
    ]

    def run() -> float:
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return trials / float(out)

    if browser is None:
        return run()
    with own_server(study) as (_, address), opened(browser) as page:
        page.goto(address)
        page.get_by_role("link", name=study.name).click()
        page.get_by_text("0 trials").first.wait_for()
        return run()


def report(own: dict[str, float], peer: dict[str, float]) -> None:
    """Print the figures side by side."""
    print(f"{'':<14}{'priorband':>12}{'optuna':>12}{'ratio':>10}")
    for name in {**own, **peer}:
        a, b = own.get(name), peer.get(name)
        ratio = f"{b / a:.1f}" if a and b else ""
        shown = [f"{value:.2f}" if value is not None else "-" for value in (a, b)]
        print(f"{name:<14}{shown[0]:>12}{shown[1]:>12}{ratio:>10}")
    print(f"Goal: {GOAL:g} times quicker.", flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=50_000)
    parser.add_argument("--study", type=Path, help="a folder with one study, `large`, instead")
    parser.add_argument("--peer", help="a Python with optuna and optuna-dashboard")
    parser.add_argument(
        "--idle", type=float, default=30.0, help="seconds to look at an idle server"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="of workers with and without the page"
    )
    parser.add_argument("--worker-trials", type=int, default=2000)
    parser.add_argument("--skip-workers", action="store_true")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    binary = shutil.which(os.environ.get("CHROMIUM", "chromium"))
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = options.study or Path(made) / "runs"
        if options.study is None:
            make(folder / "large", options.trials, "asha")
        with pb.open_study(folder / "large", read_only=True) as study:
            trials = len(study.state.history)
        browser = playwright.chromium.launch(executable_path=binary, args=FLAGS)
        print(f"{trials} trials, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
        with own_server(folder) as (pid, address):
            own = measure_own(browser, address, trials)
            own["server MiB"] = memory(pid)
            print("priorband:", {name: round(value, 3) for name, value in own.items()}, flush=True)
        peer = dict[str, float]()
        if options.peer:
            path = Path(made) / "optuna.db"
            write_equal_study(folder / "large", options.peer, path)
            with peer_server(options.peer, path) as (pid, address):
                peer = measure_peer(browser, address)
                peer["server MiB"] = memory(pid)
        report(own, peer)
        share = idle_share(browser, folder, options.idle)
        print(
            f"idle server: {100 * share:.2f} % of a core (goal: {100 * IDLE_GOAL:g} %)", flush=True
        )
        if not options.skip_workers:
            pairs = [
                (
                    worker_rate(None, Path(made), options.worker_trials),
                    worker_rate(browser, Path(made), options.worker_trials),
                )
                for _ in range(options.rounds)
            ]
            bare, watched = (statistics.median(column) for column in zip(*pairs, strict=True))
            print(
                f"8 workers: {bare:.0f} trials/s, {watched:.0f} with the page open: "
                f"{100 * (1 - watched / bare):+.1f} % lost (goal: {100 * LOSS_GOAL:g} %)"
            )
        browser.close()


if __name__ == "__main__":
    main()
