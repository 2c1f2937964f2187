"""What counts as an address, what is shown of one, and which are refused."""

import traceback
from pathlib import Path
from string import ascii_letters, digits
from urllib.parse import quote

import psycopg
import pytest
from amounts import examples
from hypothesis import given, settings
from hypothesis import strategies as st

import priorband as pb
from priorband.durable.open import journal_at
from priorband.storage.addresses import hide_secrets, is_address, shown, split
from priorband.storage.postgres import PostgresJournal
from priorband.storage.postgres_url import connect
from priorband.storage.sqlite import SqliteJournal

SECRET = "s3cr3t"
HARMLESS = [
    "postgresql:///lab#a",
    "postgresql://",
    "postgresql://ann@host",
    "postgresql://ann@host:5432/lab#resnet-2",
    "postgresql://ann@[::1]:5432/lab",
    "postgresql://one:1,two:2/lab?target_session_attrs=read-write",
    "postgresql://%2Fvar%2Frun%2Fpostgresql/lab?sslmode=require&connect_timeout=3",
    "postgresql:///?service=lab#resnet",
    "postgresql:///lab?host=/run/sockets&user=ann&passfile=/home/ann/.pgpass",
    "postgresql://ann%40corp@host/größe",
]
HIDDEN = [
    (f"postgresql://ann:{SECRET}@host:1/lab#x", "postgresql://ann:***@host:1/lab#x"),
    (f"PostgreSQL://ann:{SECRET}@host/lab", "PostgreSQL://ann:***@host/lab"),
    (f"postgresql+psycopg2://ann:{SECRET}@h/lab", "postgresql+psycopg2://ann:***@h/lab"),
    (f"mysql://ann:{SECRET}@host/lab", "mysql://ann:***@host/lab"),
    (f"postgresql://:{SECRET}@host/lab", "postgresql://:***@host/lab"),
    (f"postgresql://ann:a@{SECRET}@host/lab", "postgresql://ann:***@host/lab"),
    (f"postgresql://ann:a/{SECRET}@host/lab", "postgresql://***"),
    (f"postgresql://ann:1/{SECRET}@host/lab", "postgresql://***"),
    (f"postgresql://ann:1?{SECRET}@host/lab", "postgresql://***"),
    (f"postgresql://ann:1#{SECRET}@host/lab", "postgresql://***"),
    (f"postgresql://ann:{SECRET}/lab", "postgresql://ann:***/lab"),
    (f"postgresql://ann%3A{SECRET}@host/lab", "postgresql://***@host/lab"),
    (f"postgresql://ann%3A{SECRET}%40host/lab", "postgresql://***/lab"),
    (f"postgresql://[::1{SECRET}/lab", "postgresql://***/lab"),
    (f"postgresql://h/lab?password={SECRET}&user=ann", "postgresql://h/lab?password=***&user=ann"),
    (f"postgresql://h/lab?sslpassword={SECRET}#x", "postgresql://h/lab?sslpassword=***#x"),
    (f"postgresql://h/lab?PASSWORD={SECRET}", "postgresql://h/lab?***"),
    (f"postgresql://h/lab?pass%77ord={SECRET}", "postgresql://h/lab?***"),
    (f"postgresql://h/lab? password ={SECRET}", "postgresql://h/lab?***"),
    (f"postgresql://h/lab?{SECRET}", "postgresql://h/lab?***"),
    (f"postgresql://h/lab?{SECRET}=1&port=2", "postgresql://h/lab?***&port=2"),
    (f"postgresql://h/lab?sslmode=require;password={SECRET}", "postgresql://h/lab?sslmode=***"),
    (f"postgresql://h/lab;password={SECRET}", "postgresql://h***"),
    (f"postgresql://h/lab password={SECRET}#x", "postgresql://h***#x"),
    (f"postgresql://h/lab#x password={SECRET}", "postgresql://h/lab#***"),
    (f"postgresql://h/lab?options=-c%20my.key%3D{SECRET}", "postgresql://h/lab?***"),
    (f"postgresql:/ann:{SECRET}@host/lab", "***"),
    (f"postgresql:ann:{SECRET}@host/lab", "***"),
    (f"postgresql//ann:{SECRET}@host/lab", "***"),
    (f"postgresql:\\\\ann:{SECRET}@host\\lab", "***"),
    (f"postgresql%3A%2F%2Fann%3A{SECRET}%40host", "***"),
    (f"postgresql\uff1a//ann:{SECRET}@host/lab", "***"),
    (f"jdbc:postgresql://host/lab?password={SECRET}", "***"),
    (f"'postgresql:/ann:{SECRET}@host/lab'", "***"),
    (f"ann:{SECRET}@host/lab", "***"),
    (f"//ann:{SECRET}@host/lab", "***"),
    (f"https:/ann:{SECRET}@host/lab", "***"),
    (f"host=h password={SECRET}", "***"),
    (f"host=h\tuser=ann PassWord = '{SECRET}'", "***"),
    (f"dbname=lab sslpassword={SECRET}", "***"),
    (f"Server=h;Pwd={SECRET}", "***"),
]
FOLDERS = [
    "runs/resnet",
    "/tmp/a b",
    "C:/runs",
    "C:\\runs",
    "lr=0.1,wd=3",
    "run:3",
    "~/x",
    ".",
    "@a",
]
FOLDERS += [
    "runs/10:30@lab/x",
    "/data/10:30@lab",
    "host=a/port=2",
    "it's; a 'study' 🙂 %s?#&",
    "a\nb",
]


@pytest.mark.parametrize("address", HARMLESS)
def test_what_is_harmless_is_shown_as_it_is(address: str) -> None:
    assert is_address(address) and shown(address) == address
    assert PostgresJournal(address).where == address


@pytest.mark.parametrize(("address", "visible"), HIDDEN)
def test_what_may_be_secret_is_hidden(address: str, visible: str) -> None:
    assert shown(address) == visible


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_is_shown_as_it_is(folder: str) -> None:
    assert not is_address(folder) and shown(folder) == folder
    assert isinstance(journal_at(folder), SqliteJournal)


@pytest.mark.parametrize("address", [address for address, _ in HIDDEN])
def test_an_address_is_never_taken_for_a_folder(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = pb.Space({"x": pb.Float(0, 1)})
    if not address.startswith("postgresql://"):
        with pytest.raises(pb.errors.ArgumentError, match="begins with postgresql://"):
            pb.open_study(address, space)
    for where in (Path(address), Path("runs", address)):
        if is_address(str(where)):
            with pytest.raises(pb.errors.ArgumentError, match="is given as a str"):
                pb.open_study(where, space)
    with pytest.raises(pb.errors.ArgumentError, match="`folder` must be a path"):
        pb.open_study("postgresql:///lab", space, folder=address)
    assert list(tmp_path.iterdir()) == []


MALFORMED = [
    ("postgresql://[::1/db", "IPv6"),
    ("postgresql://::1/db", "port"),
    ("postgresql://[::1]x/db", "IPv6"),
    ("postgresql://host:port/db", "port"),
    ("postgresql://host:0/db", "port"),
    ("postgresql://host:70000/db", "port"),
    ("postgresql://one:1,two:x/db", "port"),
    ("postgresql://host:\u0661/db", "port"),
    ("postgresql://a@b@host/db", "%40"),
    ("postgresql://host/db\0", "control character"),
    ("postgresql://ho\nst/db", "control character"),
    ("postgresql://host/db?\x1b[2J", "control character"),
    ("postgresql://host/\ud800", "control character"),
    ("postgresql://host/%zz", "%25"),
    ("postgresql://host/%00", "%25"),
    ("postgresql://host/%", "%25"),
    ("postgresql://host/db#a name", "the name after #"),
    ("postgresql://host/db#" + "a" * 41, "the name after #"),
    ("postgresql://host/db#../x", "the name after #"),
]


@pytest.mark.parametrize(("address", "said"), MALFORMED, ids=lambda item: repr(item)[:40])
def test_a_malformed_address_is_an_ordinary_error(address: str, said: str) -> None:
    with pytest.raises(pb.errors.FormatError, match=said):
        pb.open_study(address)


@pytest.mark.parametrize("where", ["a\0b", "\ud800", b"postgresql://a:s3cr3t@h/db", 3, None, ""])
def test_what_cannot_be_a_folder_is_an_ordinary_error(where: object) -> None:
    with pytest.raises(pb.errors.ArgumentError, match="`study` must be a folder") as caught:
        pb.open_study(where)  # type: ignore[arg-type]  # wrong on purpose
    assert SECRET not in str(caught.value)


def test_the_name_is_split_off() -> None:
    assert split("postgresql:///?service=lab#x") == ("postgresql:///?service=lab", "x")
    assert split("postgres://host") == ("postgres://host", "study")


@pytest.mark.parametrize(
    "option", [f"nonsense{SECRET}=1", f"sslmode={SECRET}", f"{SECRET}", f"port={SECRET}%20x"]
)
def test_the_drivers_own_messages_are_clean(option: str) -> None:
    with pytest.raises((pb.PriorbandError, psycopg.Error)) as caught:
        connect(f"postgresql://127.0.0.1:1/lab?{option}").close()
    assert option.startswith("sslmode") or SECRET not in "".join(
        traceback.format_exception(caught.value)
    )


def test_secrets_are_removed_from_a_chain_of_exceptions() -> None:
    address = f"postgresql://ann:{SECRET}%20x@host/lab"
    inner, middle, outer = ValueError(f"at {SECRET} x"), KeyError("at ann"), OSError(5, address)
    middle.__context__, outer.__cause__, inner.__cause__ = inner, middle, outer
    hide_secrets(outer, address)
    assert (inner.args, middle.args) == (("at ***",), ("at ann",))
    assert SECRET not in repr(outer) and outer.args[0] == 5


MARK = "QJZX9"
SAFE = st.text(ascii_letters + digits, max_size=6)
ANY = st.text(
    st.sampled_from(
        ascii_letters + digits + ":/?#[]@!$&'()*+,;=%-._~ \t\\\"<>|^`{}\0\n\u00e9\uff1a"
    ),
    max_size=8,
)
SECRETS = st.tuples(ANY, ANY).map(MARK.join)
SCHEME = st.sampled_from(
    ["postgresql", "postgres", "PostgreSQL", "postgresql+psycopg2", "mysql", "jdbc:postgresql"]
)
SLASHES = st.sampled_from(["://", ":/", ":", "//", ":///", ":\\\\", "\uff1a//"])
SECRET_NAME = st.sampled_from(
    [*("password", "sslpassword", "PASSWORD", "Password", "pass%77ord", " password", "pwd"), MARK]
)


@given(SCHEME, SLASHES, SAFE, SECRETS, SAFE, SAFE, SAFE)
@settings(max_examples=examples(400))
def test_a_password_before_the_host_is_never_shown(  # noqa: PLR0913  # the parts of an address
    scheme: str, slashes: str, user: str, secret: str, host: str, database: str, name: str
) -> None:
    for password in (secret, quote(secret), quote(secret, safe="")):
        address = f"{scheme}{slashes}{user}:{password}@{host}/{database}"
        texts = [address, f"{address}#{name}", f"{address}?sslmode=require"]
        if "postgres" in scheme.lower() or ":" in slashes:  # mysql/a:b@c may be a folder
            texts.append(str(Path(address)))
        for text in texts:
            assert MARK not in shown(text)
            _refused_without_secret(text)


@given(SCHEME, SAFE, SAFE, SECRET_NAME, SECRETS.filter(lambda text: "#" not in text), SAFE)
@settings(max_examples=examples(400))
def test_a_password_among_the_options_is_never_shown(  # noqa: PLR0913  # the parts of an address
    scheme: str, host: str, database: str, option: str, secret: str, name: str
) -> None:
    secret = secret.replace("&user=", "").replace("&host=", "").replace("&service=", "")
    for separator in ("?", "?sslmode=require&", ";", "?port=1;", "? ", " "):
        address = f"{scheme}://{host}/{database}{separator}{option}={secret}"
        for text in (address, f"{address}#{name}"):
            assert MARK not in shown(text)
            _refused_without_secret(text)


@given(
    st.permutations(["host", "user", "password", "dbname"]), SAFE, SECRETS, st.sampled_from(" \t")
)
@settings(max_examples=examples(200))
def test_a_password_among_keywords_is_never_shown(
    names: list[str], safe: str, secret: str, space: str
) -> None:
    pairs = [f"{name}={secret if name == 'password' else safe}" for name in names]
    for text in (space.join(pairs), ";".join(pairs).upper()):
        assert MARK not in shown(text)
        _refused_without_secret(text)


def _refused_without_secret(address: str) -> None:
    """Make a journal, which connects to nothing, or refuse the address without its secret."""
    try:
        assert MARK not in journal_at(address).where
    except (pb.errors.ArgumentError, pb.errors.FormatError) as error:
        assert MARK not in "".join(traceback.format_exception(error))
