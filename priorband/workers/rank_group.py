"""The ranks of a data-parallel job, which make every attempt together.

They meet at the end of each step and of the attempt, and each says where it is. So all stop at the
same step, and all learn when one has failed or has gone another way. A rank that raises in the
middle of a step, where others may wait for it in a collective, waits for them for a while; if they
do not come, it ends, which ends their waiting, too. Then the job is over, and its launcher starts
it again. So it is when the ranks do meet, but one has begun collectives that another has not: on
an accelerator nobody waits for them at once, and they would mix with those of the next trial.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from priorband.durable.serialize import from_plain, to_plain
from priorband.errors import RankError
from priorband.space.config import Config
from priorband.values import field_names
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.objective_results import failed
from priorband.workers.rank_channel import Absent, Lost, RankChannel, Word
from priorband.workers.trial_process import Objective, evaluated

LOOK = 0.5  # seconds between looks for a word from a rank that has failed
NETWORKS = ("gloo", "NCCL", "Store")  # in what torch says when a rank cannot be reached


class Abandoned(BaseException):
    """Raised in an objective where ranks meet and one of them has failed."""


@final
class RankGroup:
    """The ranks of a group, as one of them sees them."""

    def __init__(self, wire: RankChannel, grace: float) -> None:
        self.wire = wire
        self.grace = grace
        self.rank = wire.rank
        self.world_size = wire.size
        self.broken = ""
        """Why the ranks cannot go on together; empty while they can."""
        self.heard: Callable[[str], None] = lambda why: None
        """Told on rank 0 when another rank was asked to stop."""
        self.hand_in: Callable[[TrialTask, Word], None] = lambda task, result: None
        """Told on rank 0 what came of an attempt that it may never come back from."""
        self._attempts = 0
        self._verdict: Word | None = None
        self._returned = False

    def meet(self, place: str, why: str = "") -> str:
        """Wait until all are at a place in the code; why to stop there, as all have agreed."""
        words = [] if self._verdict else self._gathered({"at": place, "why": why})
        if self._verdict:
            raise Abandoned(self._verdict["reason"])
        asked = [word["why"] for word in words]
        elsewhere: str = next(filter(None, asked[1:]), "")
        if elsewhere:
            self.heard(elsewhere)
        return asked[0] or elsewhere

    def lead(self, objective: Objective, attempt: Attempt, stopping: Callable[[], str]) -> Word:
        """What comes of an attempt that rank 0 begins, and all make together."""
        try:
            self.wire.tell({"task": written_task(attempt.task)})
        except Lost as error:
            self.broken = f"a rank has ended: {error}"
            return {"interrupted": self.broken}
        with self._watching(attempt.task):
            return self.attempted(objective, attempt, stopping)

    def attempted(
        self, objective: Objective, attempt: Attempt, stopping: Callable[[], str]
    ) -> Word:
        """What comes of an attempt: what rank 0 returned, if no rank has failed."""
        self._attempts += 1
        self._verdict, self._returned = None, False
        result: Word = {}
        try:
            run = self._noting_its_return(objective)
            result = evaluated(run, attempt, attempt.task.maximize)
            return self._agreed(result, attempt.diverged)
        except Abandoned:
            return self._abandoned()
        except (Absent, Lost) as error:
            return self._broke(error, result, stopping())
        except BaseException as error:
            self.broken = f"rank {self.rank} was ended by {type(error).__name__}"
            raise

    def _noting_its_return(self, objective: Objective) -> Objective:
        def run(attempt: Attempt) -> Any:
            value = objective(attempt)
            self._returned = True
            return value if self.rank == 0 else 0.0

        return run

    def _agreed(self, result: Word, diverged: str) -> Word:
        if "loss" in result and diverged:
            result = failed("diverged", diverged)
        if "kind" not in result:
            self.meet("its end" if "loss" in result else "its end, asked to stop")
            return result
        # At a meeting or after a return the others come in any case.
        sudden = not self._returned and result["kind"] != "diverged"
        if sudden and _of_the_network(result):
            raise Lost(result["reason"])
        if sudden and self.rank > 0:
            self.wire.alarm(self._key, {"rank": self.rank, "failed": result})
        word = {"failed": result, "sudden": sudden}
        self._gathered(word, self.grace if sudden else None)
        if self.rank == 0:
            self.wire.forget(self._key)
        return self._abandoned()

    def _gathered(self, word: Word, patience: float | None = None) -> list[Word]:
        words = self.wire.gather(word | {"collectives": self.wire.collectives()}, patience)
        self._verdict = _verdict(words)
        if self._verdict and _out_of_step(words):
            self.broken = f"{self._verdict['reason']}, and their collectives are out of step"
        return words

    def _abandoned(self) -> Word:
        assert self._verdict
        return self._verdict

    def _broke(self, error: BaseException, result: Word, why: str) -> Word:
        """What an attempt that cannot be brought to an end together means for its trial."""
        own = result.get("reason", "")
        self.broken = f"{own or 'another rank has ended'} ({error})" if own != str(error) else own
        if self.rank > 0:
            trace = result.get("details", {}).get("traceback", "")
            raise RankError(f"{over(self)}\n{trace}".strip()) from None
        left = self.wire.alarmed(self._key)
        if left is not None:
            result = _of_rank(left["rank"], left["failed"])
            self.broken = result["reason"]
            return result
        if why:
            return {"interrupted": f"{why}; {self.broken}"}
        if "kind" in result and isinstance(error, Absent):
            return result
        return failed("crashed", f"another rank has ended: {error}")

    @property
    def _key(self) -> str:
        return f"failed-{self._attempts}"

    @contextmanager
    def _watching(self, task: TrialTask) -> Iterator[None]:
        """Hand in what another rank has left word of, should this one be stuck in a collective."""
        done, key = threading.Event(), f"failed-{self._attempts + 1}"

        def watch() -> None:
            while not done.wait(LOOK):
                left = self.wire.alarmed(key)
                if left is not None:
                    if not done.wait(self.grace / 2):
                        self.hand_in(task, _of_rank(left["rank"], left["failed"]))
                    return

        thread = threading.Thread(target=watch, name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def over(team: RankGroup) -> str:
    """Why a job has to end, and what to do."""
    return (
        f"The ranks cannot go on together, as rank {team.rank} sees it: {team.broken}. What was "
        "done is safe: start the job again to go on."
    )


def written_task(task: TrialTask) -> Word:
    """A task as plain data."""
    word = {name: getattr(task, name) for name in field_names(task)}
    word |= {"config": to_plain(dict(task.config)), "root": str(task.root)}
    return word | {"resume_from": str(task.resume_from) if task.resume_from else None}


def read_task(word: Word) -> TrialTask:
    """A task from plain data that rank 0 has written."""
    resume_from = Path(word["resume_from"]) if word["resume_from"] else None
    config = Config(from_plain(word["config"]))
    return TrialTask(
        **word | {"config": config, "root": Path(word["root"]), "resume_from": resume_from}
    )


def _verdict(words: list[Word]) -> Word | None:
    """What it means that some ranks have failed, or are at different places; None where not."""
    for rank, word in enumerate(words):
        if "failed" in word:
            return _of_rank(rank, word["failed"])
    places = [word["at"] for word in words]
    unlike = next((rank for rank, place in enumerate(places) if place != places[0]), 0)
    if unlike:
        return failed(
            "raised",
            f"the ranks went different ways: rank 0 was at {places[0]}, rank {unlike} at "
            f"{places[unlike]}. All ranks must take the same steps, and call `should_stop` and "
            "`checkpoint` alike",
        )
    return None


def _of_the_network(result: Word) -> bool:
    """Whether a failure says that another rank is gone, and nothing of the trial."""
    reason = result["reason"]
    torchs = result["kind"] == "raised" and reason.startswith(("RuntimeError", "Dist"))
    return torchs and any(network in reason for network in NETWORKS)


def _out_of_step(words: list[Word]) -> bool:
    """Whether ranks that came here on different ways have begun different collectives."""
    orderly = any("failed" in word for word in words)
    orderly = orderly and not any(word.get("sudden") for word in words)
    counts = {word["collectives"] for word in words}
    return not orderly and (len(counts) > 1 or None in counts)


def _of_rank(rank: int, result: Word) -> Word:
    """A failure with the rank that it befell."""
    return {**result, "reason": f"rank {rank}: {result['reason']}"} if rank else result
