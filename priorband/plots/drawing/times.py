"""Seconds in a unit that suits their number."""

_UNITS = (("days", 86400.0, 3.0), ("hours", 3600.0, 2.0), ("minutes", 60.0, 2.0))


def time_unit(seconds: float) -> tuple[str, float]:
    """The name of the unit for times up to this one, and its seconds.

    >>> time_unit(90), time_unit(7200), time_unit(1e6)
    (('seconds', 1.0), ('hours', 3600.0), ('days', 86400.0))
    """
    for name, length, least in _UNITS:
        if seconds >= least * length:
            return name, length
    return "seconds", 1.0


def duration(seconds: float) -> str:
    """A time as short text.

    >>> duration(0.25), duration(95), duration(5400)
    ('0.25 s', '95 s', '90 min')
    """
    short = {"days": "d", "hours": "h", "minutes": "min", "seconds": "s"}
    name, length = time_unit(seconds)
    return f"{seconds / length:.3g} {short[name]}"
