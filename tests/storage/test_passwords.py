"""A password is in no name, no message and no repr."""

import traceback
from collections.abc import Callable

import pytest
from servers import Server, fresh_url

import priorband as pb
from priorband.repair.check import check
from priorband.repair.salvage import salvage
from priorband.storage.postgres import PostgresJournal

SECRET = "s3cr3t"
UNREACHABLE = f"postgresql://ann:{SECRET}@127.0.0.1:1/lab"
ODD = [
    UNREACHABLE,
    f"postgresql://ann:{SECRET}@127.0.0.1:1/lab#resnet",
    f"postgresql://127.0.0.1:1/lab?user=ann&password={SECRET}",
    f"postgresql://127.0.0.1:1/lab?password={SECRET}&user=ann#resnet",
    f"postgresql://ann:a%40{SECRET}@127.0.0.1:1/lab",
    f"postgresql://ann:a@{SECRET}@127.0.0.1:1/lab",
    f"postgresql://ann:a:{SECRET}@127.0.0.1:1/lab",
    f"postgresql://ann:a/{SECRET}@127.0.0.1:1/lab",
    f"postgresql://ann:{SECRET}/a@127.0.0.1:1/lab",
    f"postgresql://ann:a#{SECRET}@127.0.0.1:1/lab",
    f"postgresql://ann:{SECRET}#a@127.0.0.1:1/lab",
    f"postgresql://ann:a?{SECRET}@127.0.0.1:1/lab",
    f"postgresql://ann:{SECRET}@127.0.0.1:port/lab",
    f"postgresql://ann:{SECRET}@127.0.0.1:1/lab?nonsense=1",
    f"postgresql://ann:%zz{SECRET}@127.0.0.1:1/lab",
    f"postgresql://:{SECRET}@127.0.0.1:1/lab",
    f"postgres://ann:{SECRET}@127.0.0.1:1/lab#a name",
]
USES: dict[str, Callable[[str], object]] = {
    "open": lambda url: pb.open_study(url),
    "view": lambda url: pb.open_study(url, read_only=True),
    "check": check,
    "salvage": lambda url: salvage(url, "nowhere"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("url", ODD)
def test_no_message_has_the_password(url: str, use: str) -> None:
    with pytest.raises(pb.PriorbandError) as caught:
        USES[use](url)
    assert SECRET not in "".join(traceback.format_exception_only(caught.value))
    assert SECRET not in repr(caught.value)


def test_no_name_has_the_password(postgres: Server) -> None:
    url = fresh_url(postgres)
    space = pb.Space({"x": pb.Float(0, 1)})
    with pb.open_study(url, space, pb.Fidelity("epochs", 1, 9)) as study:
        assert postgres.password not in repr(study) + study.where + repr(study.journal)
        assert study.where == url.replace(postgres.password, "***")
    for wrong in (url.replace(postgres.password, SECRET), url.replace("/postgres#", "/none#")):
        with pytest.raises(pb.errors.StorageError) as caught:
            pb.open_study(wrong)
        assert SECRET not in str(caught.value) and postgres.password not in str(caught.value)
    assert PostgresJournal("postgresql:///lab#a").where == "postgresql:///lab#a"
