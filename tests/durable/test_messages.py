"""Messages between a study and its workers."""

import pytest

from priorband.durable.messages import Report, allowed_attempts
from priorband.errors import ArgumentError


def test_reports_do_not_share_their_details() -> None:
    first = Report(1, 1)
    with pytest.raises(TypeError):
        first.details["cost"] = 3.0  # type: ignore[index]  # wrong on purpose
    assert dict(Report(2, 1).details) == {}


def test_a_report_comes_back_from_its_data() -> None:
    for report in (
        Report(3, 2, 0.5, details={"cost": 1.5}),
        Report(4, 1, None, "memory", "out of memory"),
    ):
        assert Report.from_data(report.to_data()) == report


@pytest.mark.parametrize("retries", [{"bored": 1}, {"memory": 0}, {"memory": 1.5}])
def test_wrong_retries_are_refused(retries: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match="`retries`"):
        allowed_attempts(retries)
