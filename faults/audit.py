"""The audit: compare the workers' log with the records of the reopened study.

It does its own counting. Of the library it uses only the reading of records, and replay.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, final

import priorband as pb
from faults.results import Check, expect_below, expect_none
from faults.worker_log import LogEntry, WorkerLog

Key = tuple[int, int]
"""A trial and the number of an attempt at it."""


@final
@dataclass(frozen=True)
class Record:
    """A record of the study."""

    kind: str
    trial: int
    worker: str
    body: dict[str, Any]

    @property
    def key(self) -> Key:
        """Its trial and attempt."""
        return self.trial, self.body.get("attempt", 1)

    @property
    def source(self) -> Key:
        """The trial and attempt that a result is from: another one, if it came late."""
        trial, attempt = self.key
        return self.body.get("from_trial", trial), self.body.get("from_attempt", attempt)


@final
class Audit:
    """The log and the records of one study, and checks of both."""

    def __init__(self, log: WorkerLog, study: pb.DurableStudy) -> None:
        self.entries = log.all_entries()
        self.records = [
            Record(
                row.kind, -1 if row.trial is None else row.trial, row.worker, json.loads(row.body)
            )
            for row in study.journal.read(0)
        ]
        self.exact = study.replay().exact
        self.starts = self._by_attempt("start")
        self.claims = self._by_attempt("claimed")
        self.done = self._by_attempt("done")
        self.workers = {r.key: r.worker for r in self.records_of("asked", "adopted")}
        self.pids = {e.details["worker"]: e.pid for e in self.entries_of("joined")}
        self.deaths = {e.details["victim"]: e.at for e in self.entries_of("killed")}
        self.departures: dict[int, float] = {}
        """When workers that were asked to stop had ended, by process."""
        """When a worker was killed, by its pid."""
        self.endings = {r.key: r for r in self.records_of("told", "failed", "returned")}

    def records_of(self, *kinds: str) -> list[Record]:
        """The records of some kinds."""
        return [record for record in self.records if record.kind in kinds]

    def entries_of(self, event: str) -> list[LogEntry]:
        """The log's entries about a kind of event."""
        return [entry for entry in self.entries if entry.event == event]

    def _by_attempt(self, event: str) -> dict[Key, LogEntry]:
        return {(entry.trial, entry.attempt): entry for entry in self.entries_of(event)}

    def lost_results(self) -> Check:
        """No result that `turn` has acknowledged is missing from the study."""
        stored = {(r.key, r.body.get("loss")) for r in self.records_of("told", "remark")}
        acknowledged = [e for e in self.entries_of("acknowledged") if e.details["loss"] is not None]
        missing = [
            f"trial {e.trial}, attempt {e.attempt}, loss {e.details['loss']}"
            for e in acknowledged
            if ((e.trial, e.attempt), e.details["loss"]) not in stored
        ]
        return expect_none(missing, "acknowledged results lost", len(acknowledged))

    def repeated_trials(self) -> Check:
        """No trial was completed twice, and no attempt was started or handed out twice."""
        ends = Counter(record.trial for record in self.records_of("told", "failed"))
        repeated = [f"trial {trial} ended {n} times" for trial, n in ends.items() if n > 1]
        started = Counter((entry.trial, entry.attempt) for entry in self.entries_of("start"))
        repeated += [f"attempt {key} began {n} times" for key, n in started.items() if n > 1]
        claimed = Counter(record.key for record in self.records_of("asked", "adopted"))
        repeated += [f"attempt {key} was given {n} times" for key, n in claimed.items() if n > 1]
        return expect_none(repeated, "trials completed or attempts begun twice", len(ends))

    def unfinished_trials(self) -> Check:
        """Each trial that was handed out has ended."""
        ended = {record.trial for record in self.records_of("told", "failed")}
        asked = {record.trial for record in self.records_of("asked")}
        stuck = [f"trial {trial}" for trial in sorted(asked - ended)]
        return expect_none(stuck, "trials stuck", len(asked))

    def invented_results(self) -> Check:
        """Each result comes from a training, and each attempt was handed out."""
        invented = [
            f"trial {r.trial}, loss {r.body['loss']}"
            for r in self.records_of("told")
            if r.source not in self.done or self.done[r.source].details["loss"] != r.body["loss"]
        ]
        invented += [
            f"attempt {key} was not recorded" for key in self.starts.keys() - self.workers.keys()
        ]
        return expect_none(invented, "results or attempts invented", len(self.records_of("told")))

    def overlapping_attempts(self) -> Check:
        """No two living workers were working on the same trial at the same time."""
        spans_of_trial = defaultdict(list)
        for (trial, attempt), start in self.starts.items():
            spans_of_trial[trial].append((start.at, self._earliest_end(start), attempt))
        overlaps = []
        for trial, spans in spans_of_trial.items():
            spans.sort()
            for (_, end, first), (begin, _, second) in zip(spans, spans[1:], strict=False):
                if begin < end:
                    seconds = end - begin
                    overlaps.append(
                        f"trial {trial}, attempts {first} and {second}, {seconds:.3f} s"
                    )
        return expect_none(overlaps, "overlapping attempts", len(self.starts))

    def _earliest_end(self, start: LogEntry) -> float:
        """When an attempt was over at the earliest: it was done, or its worker had ended."""
        done, worker = self.done.get((start.trial, start.attempt)), start.details["worker_pid"]
        ends = [done.at] if done else []
        ends += [ended[worker] for ended in (self.deaths, self.departures) if worker in ended]
        return min(ends, default=float("inf"))

    def orphaned_attempts(self) -> dict[Key, float]:
        """The attempts whose worker was killed before they ended, and when it was killed."""
        orphans = {}
        for key, worker in self.workers.items():
            ending, pid = self.endings.get(key), self.pids.get(worker)
            told = ending is not None and ending.kind == "told"
            if pid in self.deaths and not told:
                orphans[key] = self.deaths[pid]
        return orphans

    def takeover_delay(self, limit: float) -> Check:
        """An orphaned trial is taken over within some seconds."""
        delays, orphans = [0.0], self.orphaned_attempts()
        for (trial, attempt), died in orphans.items():
            following = (trial, attempt + 1)
            if following in self.claims:
                delays.append(self.claims[following].at - died)
            elif following in orphans:  # the next worker was killed before it could log the claim
                delays.append(orphans[following] - died)
        taken_over = len(delays) - 1
        what = f"{taken_over} of {len(orphans)} orphans taken over, slowest"
        return expect_below(max(delays), limit, what)

    def wrongly_lost_attempts(self) -> Check:
        """No attempt was declared lost while its worker was alive.

        A worker may be killed after it has posted its result, before that is acknowledged: if the
        attempt is declared lost first, the result still counts.
        """
        acknowledged = self._by_attempt("acknowledged")
        orphans = self.orphaned_attempts().keys() | {
            key
            for key, worker in self.workers.items()
            if self.pids.get(worker) in self.deaths and key not in acknowledged
        }
        lost = [r for r in self.records_of("returned", "failed") if r.body["kind"] == "lost"]
        wrong = [f"trial {r.trial}, attempt {r.key[1]}" for r in lost if r.key not in orphans]
        return expect_none(wrong, "attempts of living workers declared lost", len(lost))

    def trials_given_up(self, max_lost: int) -> Check:
        """A trial failed if, and only if, it lost `max_lost` attempts."""
        losses = Counter(trial for trial, _ in self.orphaned_attempts())
        due = {trial for trial, n in losses.items() if n >= max_lost}
        failed = {record.trial for record in self.records_of("failed")}
        wrong = [f"trial {trial} after {losses[trial]}" for trial in sorted(due ^ failed)]
        check = expect_none(
            wrong, "wrong", f"{len(failed)} failures after {max_lost} lost attempts"
        )
        return Check(f"{len(failed)} trials failed, {check.text}", "0 wrong", check.passed)

    def budget_overshoot(self, budget: pb.Budget) -> Check:
        """Exactly as many trials were handed out as the budget allows."""
        trials = [r for r in self.records_of("asked") if r.body["origin"] != "imported"]
        asked, limit = len(trials), budget.trials or 0
        return Check(f"{asked} trials handed out", f"= {limit}", asked == limit)

    def replay_exact(self) -> Check:
        """Replay makes each decision again as it was recorded."""
        return Check(f"replay {'exact' if self.exact else 'differs'}", "exact", self.exact)

    def worker_errors(self, exit_codes: list[int | None]) -> Check:
        """Each worker that was not killed ended because all work was done."""
        errors = [e.details["trace"].strip().splitlines()[-1] for e in self.entries_of("broke")]
        errors += [
            e.details["reason"] for e in self.entries_of("ended") if e.details["how"] != "done"
        ]
        errors += [f"exit code {code}" for code in exit_codes if code != 0]
        return expect_none(errors, "workers ended by an exception", len(exit_codes))

    def outliving_trainings(self) -> Check:
        """No training went on for more than 0.2 s after its worker was dead."""
        dead = {entry.details["victim"]: entry.at for entry in self.entries_of("dead")}
        outliving = []
        for key, done in self.done.items():
            died = dead.get(self.starts[key].details["worker_pid"], done.at)
            if done.at - died > 0.2:
                outliving.append(f"trial {done.trial}, {done.at - died:.2f} s")
        return expect_none(outliving, "trainings outlived their workers", len(self.done))

    def torn_checkpoints(self) -> Check:
        """No incomplete checkpoint was passed on to the next attempt."""
        torn = [f"trial {e.trial}: {e.details['contents']}" for e in self.entries_of("torn")]
        return expect_none(torn, "incomplete checkpoints passed on")


def common_checks(audit: Audit, exit_codes: list[int | None]) -> dict[str, Check]:
    """The checks that every study must pass, whatever was done to it."""
    return {
        "lost": audit.lost_results(),
        "repeated": audit.repeated_trials(),
        "unfinished": audit.unfinished_trials(),
        "invented": audit.invented_results(),
        "overlaps": audit.overlapping_attempts(),
        "errors": audit.worker_errors(exit_codes),
        "torn": audit.torn_checkpoints(),
        "replay": audit.replay_exact(),
    }
