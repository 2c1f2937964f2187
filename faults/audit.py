"""The audit: what the diary says that workers did, against what the reopened study holds.

It counts for itself. Of the library it uses the reading of records, and replay.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, final

import priorband as pb
from faults.diary import Diary, Entry
from faults.findings import Figure, at_most, none_of

Key = tuple[int, int]
"""A trial and the number of an attempt at it."""


@final
@dataclass(frozen=True)
class Record:
    """A record of the study, as it was read."""

    kind: str
    trial: int
    worker: str
    body: dict[str, Any]

    @property
    def key(self) -> Key:
        """Its trial and attempt."""
        return self.trial, self.body.get("attempt", 1)


@final
class Audit:
    """The two accounts of one run, side by side."""

    def __init__(self, diary: Diary, study: pb.DurableStudy) -> None:
        self.entries = diary.all()
        self.records = [
            Record(
                row.kind, -1 if row.trial is None else row.trial, row.worker, json.loads(row.body)
            )
            for row in study.journal.read(0)
        ]
        self.exact = study.replay().exact
        self.starts = self._keyed("start")
        self.taken = self._keyed("claimed")
        self.done = self._keyed("done")
        self.claims = {r.key: r.worker for r in self.of("asked", "adopted")}
        self.pids = {e.more["worker"]: e.pid for e in self.seen("joined")}
        self.deaths = {e.more["victim"]: e.at for e in self.seen("killed")}
        self.endings = {r.key: r for r in self.of("told", "failed", "returned")}

    def of(self, *kinds: str) -> list[Record]:
        """The records of some kinds."""
        return [record for record in self.records if record.kind in kinds]

    def seen(self, what: str) -> list[Entry]:
        """The entries of a kind."""
        return [entry for entry in self.entries if entry.what == what]

    def _keyed(self, what: str) -> dict[Key, Entry]:
        return {(entry.trial, entry.attempt): entry for entry in self.seen(what)}

    def lost(self) -> Figure:
        """Results that `turn` took, and that are not in the study."""
        kept = {(r.key, r.body.get("loss")) for r in self.of("told", "remark")}
        acknowledged = [e for e in self.seen("acknowledged") if e.more["loss"] is not None]
        missing = [
            f"trial {e.trial}, attempt {e.attempt}, loss {e.more['loss']}"
            for e in acknowledged
            if ((e.trial, e.attempt), e.more["loss"]) not in kept
        ]
        return none_of(missing, "acknowledged results lost", len(acknowledged))

    def twice(self) -> Figure:
        """Trials that were completed more than once, attempts that were begun more than once."""
        ends = Counter(record.trial for record in self.of("told", "failed"))
        often = [f"trial {trial} ended {n} times" for trial, n in ends.items() if n > 1]
        begun = Counter((entry.trial, entry.attempt) for entry in self.seen("start"))
        often += [f"attempt {key} began {n} times" for key, n in begun.items() if n > 1]
        claimed = Counter(record.key for record in self.of("asked", "adopted"))
        often += [f"attempt {key} was given {n} times" for key, n in claimed.items() if n > 1]
        return none_of(often, "trials completed or attempts begun twice", len(ends))

    def stuck(self) -> Figure:
        """Trials that were handed out and never ended."""
        ended = {record.trial for record in self.of("told", "failed")}
        asked = {record.trial for record in self.of("asked")}
        left = [f"trial {trial}" for trial in sorted(asked - ended)]
        return none_of(left, "trials stuck", len(asked))

    def invented(self) -> Figure:
        """Results in the study that no training has brought, or attempts that nobody was given."""
        false = [
            f"trial {r.trial}, loss {r.body['loss']}"
            for r in self.of("told")
            if r.key not in self.done or self.done[r.key].more["loss"] != r.body["loss"]
        ]
        false += [
            f"attempt {key} was not recorded" for key in self.starts.keys() - self.claims.keys()
        ]
        return none_of(false, "results or attempts from nowhere", len(self.of("told")))

    def overlaps(self) -> Figure:
        """Attempts at one trial that two living workers were at, at one time."""
        spans = defaultdict(list)
        for (trial, attempt), start in self.starts.items():
            spans[trial].append((start.at, self._over(start), attempt))
        both = []
        for trial, found in spans.items():
            found.sort()
            for (_, end, one), (begin, _, other) in zip(found, found[1:], strict=False):
                if begin < end:
                    both.append(f"trial {trial}, attempts {one} and {other}, {end - begin:.3f} s")
        return none_of(both, "overlapping attempts", len(self.starts))

    def _over(self, start: Entry) -> float:
        """When an attempt was over at the earliest: it was done, or its worker was killed."""
        done = self.done.get((start.trial, start.attempt))
        end = done.at if done else float("inf")
        return min(end, self.deaths.get(start.more["of"], float("inf")))

    def orphans(self) -> dict[Key, float]:
        """The attempts whose worker was killed before they ended, and when."""
        found = {}
        for key, worker in self.claims.items():
            ending, pid = self.endings.get(key), self.pids.get(worker)
            mine = ending is not None and ending.kind == "told"
            if pid in self.deaths and not mine:
                found[key] = self.deaths[pid]
        return found

    def delays(self, limit: float) -> Figure:
        """How long it took until an orphan was taken over."""
        waits, orphans = [0.0], self.orphans()
        for (trial, attempt), died in orphans.items():
            following = (trial, attempt + 1)
            if following in self.taken:
                waits.append(self.taken[following].at - died)
            elif following in orphans:  # its taker was killed before it could say so
                waits.append(orphans[following] - died)
        taken = len(waits) - 1
        return at_most(max(waits), limit, f"{taken} of {len(orphans)} orphans taken over, slowest")

    def wrongly(self) -> Figure:
        """Attempts that were declared lost though their worker was alive."""
        orphans = self.orphans()
        lost = [r for r in self.of("returned", "failed") if r.body["kind"] == "lost"]
        false = [f"trial {r.trial}, attempt {r.key[1]}" for r in lost if r.key not in orphans]
        return none_of(false, "attempts of living workers declared lost", len(lost))

    def given_up(self, most: int) -> Figure:
        """Trials that failed: those, and only those, that lost as many attempts as they have."""
        losses = Counter(trial for trial, _ in self.orphans())
        due = {trial for trial, n in losses.items() if n >= most}
        failed = {record.trial for record in self.of("failed")}
        wrong = [f"trial {trial} after {losses[trial]}" for trial in sorted(due ^ failed)]
        figure = none_of(wrong, "wrong", f"{len(failed)} failures after {most} lost attempts")
        return Figure(f"{len(failed)} trials failed, {figure.shown}", "0 wrong", figure.good)

    def overshoot(self, budget: pb.Budget) -> Figure:
        """What was handed out beyond the budget."""
        asked, limit = len(self.of("asked")), budget.trials or 0
        return Figure(f"{asked} trials handed out", f"= {limit}", asked == limit)

    def replay(self) -> Figure:
        """Whether every decision comes out as it was recorded."""
        return Figure(f"replay {'exact' if self.exact else 'differs'}", "exact", self.exact)

    def broken(self, codes: list[int | None]) -> Figure:
        """Workers that ended by themselves otherwise than with all work done."""
        bad = [e.more["trace"].strip().splitlines()[-1] for e in self.seen("broke")]
        bad += [e.more["reason"] for e in self.seen("ended") if e.more["how"] != "done"]
        bad += [f"exit code {code}" for code in codes if code != 0]
        return none_of(bad, "workers ended by an exception", len(codes))

    def undead(self) -> Figure:
        """Trainings that went on after their worker was dead, by more than a moment."""
        dead = {entry.more["victim"]: entry.at for entry in self.seen("dead")}
        found = [
            f"trial {done.trial}, {late:.2f} s"
            for key, done in self.done.items()
            if (late := done.at - dead.get(self.starts[key].more["of"], done.at)) > 0.2
        ]
        return none_of(found, "trainings outlived their workers", len(self.done))

    def torn(self) -> Figure:
        """Checkpoints that were handed on though they were not whole."""
        found = [f"trial {e.trial}: {e.more['found']}" for e in self.seen("torn")]
        return none_of(found, "torn checkpoints handed on")


def whole(audit: Audit, codes: list[int | None]) -> dict[str, Figure]:
    """The figures that every run must meet, whatever was done to it."""
    return {
        "lost": audit.lost(),
        "twice": audit.twice(),
        "stuck": audit.stuck(),
        "invented": audit.invented(),
        "overlaps": audit.overlaps(),
        "broken": audit.broken(codes),
        "torn": audit.torn(),
        "replay": audit.replay(),
    }
