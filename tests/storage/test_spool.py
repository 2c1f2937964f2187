"""Results kept in a file of this machine while storage does not answer."""

import os
from pathlib import Path

import pytest

from priorband.durable.messages import Report
from priorband.errors import FormatError
from priorband.storage.spool import Spool


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


@pytest.mark.parametrize("trial", [-1, 10**30])
def test_a_spooled_result_of_no_trial_is_refused(trial: int) -> None:
    with pytest.raises(FormatError):
        Report.from_data(Report(trial, 1, 0.5).to_data())
