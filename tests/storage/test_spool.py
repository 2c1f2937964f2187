"""Results kept in a file of this machine while storage does not answer."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from stored_studies import EPOCHS, SPACE

import priorband as pb
from priorband.durable.messages import Report
from priorband.errors import FormatError
from priorband.storage.spool import Spool
from priorband.workers.trial_runner import WorkerOptions
from priorband.workers.worker import Worker


def test_a_user_without_a_home_has_a_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.delenv("PRIORBAND_SPOOL", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert Spool("abc").waiting() == {}


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no users")
def test_results_that_another_user_has_left_are_not_handed_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIORBAND_SPOOL", str(tmp_path))
    spool = Spool("abc")
    assert spool.put("0-1", {"trial": 0})
    assert len(spool.waiting()) == 1
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    assert spool.waiting() == {}


needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
STRANGER = 12345


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The place that is chosen, and the usual one."""
    monkeypatch.setenv("PRIORBAND_SPOOL", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "chosen", tmp_path / "state" / "priorband" / "spool"


@needs_root
@pytest.mark.parametrize("name", ["", "abc"])
def test_a_folder_of_another_user_is_refused_and_the_next_one_is_used(
    places: tuple[Path, Path], name: str
) -> None:
    chosen, usual = places
    (chosen / name).mkdir(parents=True)
    os.chown(chosen / name, STRANGER, STRANGER)
    spool = Spool("abc")
    assert spool.refused == {chosen: f"it belongs to another user (uid {STRANGER})"}
    assert spool.place == usual
    kept = spool.put("0-1", {"trial": 0})
    assert kept == usual / "abc" / "0-1.json"
    assert list(Spool("abc").waiting()) == [kept]
    assert not list(chosen.rglob("*.json"))


@needs_root
def test_a_folder_that_is_given_away_later_takes_no_more_results(
    places: tuple[Path, Path],
) -> None:
    chosen, usual = places
    spool = Spool("abc")
    assert spool.put("0-1", {"trial": 0}) == chosen / "abc" / "0-1.json"
    os.chown(chosen / "abc", STRANGER, STRANGER)
    assert spool.put("1-1", {"trial": 1}) == usual / "abc" / "1-1.json"


@needs_root
def test_another_user_keeps_results_in_a_folder_of_root_or_of_its_own() -> None:
    """In /tmp, where others may look: `tmp_path` is for root only."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        place = Path(made)
        place.chmod(0o755)
        shared, own, roots = place / "shared", place / "own", place / "roots"
        for folder, mode in ((shared, 0o1777), (own, 0o700), (roots, 0o755)):
            folder.mkdir()
            folder.chmod(mode)
        os.chown(own, STRANGER, STRANGER)
        said = as_user(STRANGER, place, [shared, own, roots])
    assert said == [
        [{}, str(shared / "abc" / "0-1.json")],
        [{}, str(own / "abc" / "0-1.json")],
        [{str(roots): "it cannot be written to"}, str(place / "home/priorband/spool/abc/0-1.json")],
    ]


def as_user(uid: int, place: Path, chosen: list[Path]) -> list[object]:
    """What a spool says, and where it keeps a result, for another user who chose a place."""
    (place / "home").mkdir()
    os.chown(place / "home", uid, uid)
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        try:
            os.setgid(uid)
            os.setuid(uid)
            os.environ["XDG_STATE_HOME"] = str(place / "home")
            said = []
            for folder in chosen:
                os.environ["PRIORBAND_SPOOL"] = str(folder)
                spool = Spool("abc")
                kept = spool.put("0-1", {"trial": 0})
                assert kept in spool.waiting()
                refused = {str(path): reason for path, reason in spool.refused.items()}
                said.append([refused, str(kept)])
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    data: list[object] = json.loads(text)
    return data


@needs_root
def test_a_worker_says_which_place_it_does_not_use(
    tmp_path: Path, places: tuple[Path, Path]
) -> None:
    chosen, usual = places
    chosen.mkdir()
    os.chown(chosen, STRANGER, STRANGER)
    said: list[str] = []
    with pb.open_study(tmp_path / "study", SPACE, EPOCHS) as study:
        study.limit(pb.Budget(trials=1))
        options = WorkerOptions(start="same-process")
        assert Worker(study, lambda trial: 0.5, options, said.append).run().status == "done"
    assert said == [
        f"Results that cannot be submitted are not kept in {chosen}: it belongs to another user "
        f"(uid {STRANGER}); {usual} is used instead."
    ]


@pytest.mark.parametrize("trial", [-1, 10**30])
def test_a_spooled_result_of_no_trial_is_refused(trial: int) -> None:
    with pytest.raises(FormatError):
        Report.from_data(Report(trial, 1, 0.5).to_data())
