"""The ranks of a data-parallel job, which make every attempt together.

The ranks synchronize at the end of each step and at the end of an attempt, and each says at which
place in the code it is. So all stop at the same step, and all learn if one has failed or has taken
a different path.

A rank that raises in the middle of a step may leave the others waiting for it in a collective. It
waits `grace` seconds for them; if they do not arrive, it exits, which ends their wait, too. The job
is then over, and its launcher has to start it again. The job also ends if the ranks do meet but
have started different collectives: on a GPU nothing waits for these to finish, so they would mix
with those of the next trial.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from priorband.durable.serialize import from_data, to_data
from priorband.errors import RankError
from priorband.space.config import Config
from priorband.values import field_names
from priorband.workers.attempt import Attempt, TrialTask
from priorband.workers.objective_results import AttemptResult, Objective, evaluate, failure
from priorband.workers.rank_channel import Message, RankChannel, RankLost, RankTimeout

LOOK = 0.5  # seconds between checks for a failure that another rank has posted
NETWORKS = ("gloo", "NCCL", "Store")  # in what torch says when a rank cannot be reached


class AttemptAbandoned(BaseException):
    """Raised in an objective where the ranks synchronize and one of them has failed."""


@final
class RankGroup:
    """All ranks of a job, as seen from one of them."""

    def __init__(self, channel: RankChannel, grace: float) -> None:
        self.channel = channel
        self.grace = grace
        self.rank = channel.rank
        self.world_size = channel.size
        self.broken = ""
        """Why the ranks cannot train together any longer; empty while they can."""
        self.on_stop_request: Callable[[str], None] = lambda reason: None
        """Called on rank 0, with the reason, if another rank was asked to stop."""
        self.submit_result: Callable[[TrialTask, AttemptResult], None] = lambda task, result: None
        """Called on rank 0 to record a failure if the objective itself may never return."""
        self._attempts = 0
        self._failure: AttemptResult | None = None
        self._returned = False

    def synchronize(self, place: str, stop_reason: str = "") -> str:
        """Wait until all ranks are at `place` in the code; return the reason to stop, if any."""
        messages = [] if self._failure else self._exchange({"at": place, "why": stop_reason})
        if self._failure:
            raise AttemptAbandoned(self._failure["reason"])
        reasons = [message["why"] for message in messages]
        from_others: str = next(filter(None, reasons[1:]), "")
        if from_others:
            self.on_stop_request(from_others)
        return reasons[0] or from_others

    def run_on_all_ranks(
        self, objective: Objective, attempt: Attempt, stop_reason: Callable[[], str]
    ) -> AttemptResult:
        """On rank 0: send the task to the other ranks, and make the attempt with them."""
        try:
            self.channel.broadcast({"task": task_to_data(attempt.task)})
        except RankLost as error:
            self.broken = f"a rank has ended: {error}"
            return {"interrupted": self.broken}
        with self._watch_for_failures(attempt.task):
            return self.run_attempt(objective, attempt, stop_reason)

    def run_attempt(
        self, objective: Objective, attempt: Attempt, stop_reason: Callable[[], str]
    ) -> AttemptResult:
        """Make this rank's part of an attempt; return rank 0's result if no rank has failed."""
        self._attempts += 1
        self._failure, self._returned = None, False
        result: AttemptResult = {}
        try:
            result = evaluate(self._noting_return(objective), attempt, attempt.task.maximize)
            return self._agreed_result(result, attempt.diverged)
        except AttemptAbandoned:
            return self._agreed_failure()
        except (RankTimeout, RankLost) as error:
            return self._result_of_broken_group(error, result, stop_reason())
        except BaseException as error:
            self.broken = f"rank {self.rank} was ended by {type(error).__name__}"
            raise

    def _noting_return(self, objective: Objective) -> Objective:
        """The objective, noting that it has returned; only the value of rank 0 is used."""

        def noting(attempt: Attempt) -> Any:
            value = objective(attempt)
            self._returned = True
            return value if self.rank == 0 else 0.0

        return noting

    def _agreed_result(self, result: AttemptResult, diverged: str) -> AttemptResult:
        if "loss" in result and diverged:
            result = failure("diverged", diverged)
        if "kind" not in result:
            self.synchronize("its end" if "loss" in result else "its end, asked to stop")
            return result
        # After a return, or where the ranks synchronize, the others arrive in any case.
        sudden = not self._returned and result["kind"] != "diverged"
        if sudden and _is_network_error(result):
            raise RankLost(result["reason"])
        if sudden and self.rank > 0:
            self.channel.post_failure(self._key, {"rank": self.rank, "failed": result})
        message = {"failed": result, "sudden": sudden}
        self._exchange(message, self.grace if sudden else None)
        if self.rank == 0:
            self.channel.delete_failure(self._key)
        return self._agreed_failure()

    def _exchange(self, message: Message, patience: float | None = None) -> list[Message]:
        numbered = message | {"collectives": self.channel.collectives()}
        messages = self.channel.all_gather(numbered, patience)
        self._failure = _joint_failure(messages)
        if self._failure and _out_of_step(messages):
            self.broken = f"{self._failure['reason']}, and their collectives are out of step"
        return messages

    def _agreed_failure(self) -> AttemptResult:
        assert self._failure
        return self._failure

    def _result_of_broken_group(
        self, error: BaseException, result: AttemptResult, stop_reason: str
    ) -> AttemptResult:
        """The result on rank 0 of an attempt that the ranks could not end together.

        Other ranks raise RankError, which ends their processes.
        """
        own = result.get("reason", "")
        self.broken = f"{own or 'another rank has ended'} ({error})" if own != str(error) else own
        if self.rank > 0:
            trace = result.get("details", {}).get("traceback", "")
            raise RankError(f"{job_over_message(self)}\n{trace}".strip()) from None
        posted = self.channel.posted_failure(self._key)
        if posted is not None:
            result = _with_rank(posted["rank"], posted["failed"])
            self.broken = result["reason"]
            return result
        if stop_reason:
            return {"interrupted": f"{stop_reason}; {self.broken}"}
        if "kind" in result and isinstance(error, RankTimeout):
            return result
        return failure("crashed", f"another rank has ended: {error}")

    @property
    def _key(self) -> str:
        return f"failed-{self._attempts}"

    @contextmanager
    def _watch_for_failures(self, task: TrialTask) -> Iterator[None]:
        """Record a failure that another rank posts, in case this one is stuck in a collective."""
        done, key = threading.Event(), f"failed-{self._attempts + 1}"

        def watch() -> None:
            while not done.wait(LOOK):
                posted = self.channel.posted_failure(key)
                if posted is not None:
                    if not done.wait(self.grace / 2):
                        self.submit_result(task, _with_rank(posted["rank"], posted["failed"]))
                    return

        thread = threading.Thread(target=watch, name="watch", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def job_over_message(group: RankGroup) -> str:
    """Why a job has to end, and what to do."""
    return (
        f"Rank {group.rank} can no longer train with the others: {group.broken}. All results so "
        "far are saved: start the job again to continue."
    )


def task_to_data(task: TrialTask) -> Message:
    """A task as plain data."""
    data = {name: getattr(task, name) for name in field_names(task)}
    data |= {"config": to_data(dict(task.config)), "root": str(task.root)}
    return data | {"resume_from": str(task.resume_from) if task.resume_from else None}


def task_from_data(data: Message) -> TrialTask:
    """A task from the plain data that rank 0 has sent."""
    resume_from = Path(data["resume_from"]) if data["resume_from"] else None
    config, held = Config(from_data(data["config"])), data["held"]
    changed = {"config": config, "root": Path(data["root"]), "resume_from": resume_from}
    return TrialTask(**data | changed | {"held": tuple(held) if held else None})


def _joint_failure(messages: list[Message]) -> AttemptResult | None:
    """The failure of an attempt if a rank has failed, or ranks are at different places."""
    for rank, message in enumerate(messages):
        if "failed" in message:
            return _with_rank(rank, message["failed"])
    places = [message["at"] for message in messages]
    other = next((rank for rank, place in enumerate(places) if place != places[0]), 0)
    if other:
        return failure(
            "raised",
            f"the ranks went different ways: rank 0 was at {places[0]}, rank {other} at "
            f"{places[other]}. All ranks must take the same steps, and call `should_stop` and "
            "`checkpoint` alike",
        )
    return None


def _is_network_error(result: AttemptResult) -> bool:
    """Whether a failure only means that another rank is gone."""
    reason = result["reason"]
    from_torch = result["kind"] == "raised" and reason.startswith(("RuntimeError", "Dist"))
    return from_torch and any(network in reason for network in NETWORKS)


def _out_of_step(messages: list[Message]) -> bool:
    """Whether ranks that arrived from different places have started different collectives."""
    orderly = any("failed" in message for message in messages)
    orderly = orderly and not any(message.get("sudden") for message in messages)
    counts = {message["collectives"] for message in messages}
    return not orderly and (len(counts) > 1 or None in counts)


def _with_rank(rank: int, result: AttemptResult) -> AttemptResult:
    """A failure whose reason names the rank, unless it is rank 0."""
    return {**result, "reason": f"rank {rank}: {result['reason']}"} if rank else result
