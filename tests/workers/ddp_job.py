"""A rank of a data-parallel job: python ddp_job.py objective study notes [options as JSON]."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import priorband as pb
from priorband.workers.distributed import tune_in_group

SPACE = pb.Space(
    {
        "lr": pb.Float(1e-3, 0.3, log=True, prior=0.05),
        "shape": pb.Categorical([(8, 8), (16,), None]),
    }
)
EPOCHS = pb.Fidelity("epochs", 1, 9)
X = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
Y = [1.0, 3.0, 4.0, 8.0]
NOTES = Path(sys.argv[3] if len(sys.argv) > 3 else ".")


def note(trial: pb.Attempt, **more: Any) -> None:
    about = {"id": trial.id, "attempt": trial.attempt, "config": dict(trial.config)}
    about |= {"fidelity": trial.fidelity, "seed": trial.seed, "start": trial.start}
    about |= {"resume_from": str(trial.resume_from), "checkpoint_dir": str(trial.checkpoint_dir)}
    with open(NOTES / f"rank-{trial.rank}.jsonl", "a") as file:
        file.write(json.dumps(about | more) + "\n")


def fit(trial: pb.Attempt) -> Any:
    """Gradient descent on four points, two a rank: what all four would give in one process."""
    import torch
    import torch.distributed as dist

    note(trial, size=trial.world_size)
    model = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(model.weight)
    if trial.resume_from:
        model.load_state_dict(torch.load(trial.resume_from / "model.pt"))
    mine = slice(2 * trial.rank, 2 * trial.rank + 2)
    x, y = torch.tensor(X, dtype=torch.float64)[mine], torch.tensor(Y, dtype=torch.float64)[mine]
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    descent = torch.optim.SGD(model.parameters(), lr=trial.config["lr"] / 10)
    ran = []
    for epoch in trial.steps():
        descent.zero_grad()
        ((parallel(x)[:, 0] - y) ** 2).mean().backward()
        descent.step()
        ran.append(epoch)
        trial.report(epoch, loss=float(model.weight.detach().sum()))
        if trial.rank == 0:
            torch.save(model.state_dict(), trial.checkpoint_dir / "model.pt")
    with torch.no_grad():
        loss = ((model(x)[:, 0] - y) ** 2).mean()
    dist.all_reduce(loss)
    return {"loss": loss / 2, "cost": len(ran), "ran": ran} if trial.rank == 0 else None


def waits(trial: pb.Attempt) -> float | None:
    """Saves a piece on each rank; waits in the second step of a job for the file GATE names."""
    gate = os.environ.get("GATE")
    for epoch in trial.steps():
        (trial.checkpoint_dir / f"piece-{trial.rank}").write_text(str(epoch))
        note(trial, epoch=epoch)
        while gate and epoch == trial.start + 2 and not os.path.exists(gate):
            time.sleep(0.02)
    return 1 / trial.fidelity if trial.rank == 0 else None


def troubled(trial: pb.Attempt) -> float:
    """Fails in a way of its own in each of the first trials, on one rank or on both."""
    note(trial)
    for epoch in trial.steps():
        if trial.id == 1:
            raise ValueError("on both ranks")
        if trial.id == 2 and trial.rank == 1:
            raise MemoryError("on one rank")
        if trial.id == 3 and trial.rank == 1:
            trial.report(epoch, loss=float("nan"))
        if trial.id == 10 and trial.rank == 1:
            break
    return 0.5 if trial.id != 5 or trial.rank else float("inf")


def out_of_step(trial: pb.Attempt) -> float:
    """Fails, or dies, on one rank while the other waits for it in a collective."""
    import torch
    import torch.distributed as dist

    note(trial)
    if trial.rank == 1 and trial.id == 1:
        raise ValueError("on rank 1")
    if trial.rank == 0 and trial.id == 2:
        raise ValueError("on rank 0")
    if trial.rank == 1 and trial.id == 3 and trial.attempt == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if trial.rank == 1 and trial.id == 4:
        raise ValueError("before a collective that nobody waits for")
    begun = dist.all_reduce(torch.ones(1), async_op=True)
    if trial.id != 4:
        begun.wait()
    return 0.5


def stuck(trial: pb.Attempt) -> float:
    """Fails on one rank while the other never comes back."""
    note(trial)
    if trial.rank == 1:
        raise ValueError("on rank 1")
    time.sleep(600)
    return 0.5


def apart(trial: pb.Attempt) -> float:
    """Trained by a group of one rank, while the other trains another trial."""
    with open(NOTES / f"rank-{os.environ['RANK']}.jsonl", "a") as file:
        file.write(json.dumps([trial.id, trial.rank, trial.world_size]) + "\n")
    time.sleep(0.05)
    return 0.5


def main() -> None:
    """What `torchrun` would start."""
    objectives = {one.__name__: one for one in (fit, waits, troubled, out_of_step, stuck, apart)}
    options = json.loads(sys.argv[4]) if len(sys.argv) > 4 else {}
    options = {"budget": 3, "study": sys.argv[2], "show": "quiet"} | options
    if sys.argv[1] == "apart":
        import torch.distributed as dist

        dist.init_process_group("gloo")
        options["group"] = dist.new_group([dist.get_rank()], use_local_synchronization=True)
    tuned = tune_in_group(objectives[sys.argv[1]], SPACE, EPOCHS, **options)
    assert (tuned is None) == (os.environ["RANK"] != "0" and "group" not in options)
    if "group" in options:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
