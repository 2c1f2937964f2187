"""Reading past runs from a file: the inferred space, and the errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from priorband import Categorical, Constant, Float, Integer, Ordinal, Space
from priorband.benchmarks.run_table import RunTable, SpaceOrColumns, read_table
from priorband.errors import DataError
from priorband.space.base import Parameter

Write = Callable[[str], Path]


def read(
    path: Path, fidelity: str = "epoch", loss: str = "loss", space: SpaceOrColumns = None
) -> RunTable:
    return read_table(path, fidelity, loss, space)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "runs.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return written


# Which space and fidelity a file suggests


@pytest.mark.parametrize(
    ("cells", "parameter"),
    [
        (["1", "5", "3"], Integer(1, 5)),
        (["1", "100", "3"], Integer(1, 100)),
        (["1", "101", "3"], Integer(1, 101, log=True)),
        (["-1", "500", "3"], Integer(-1, 500)),
        (["0", "500", "3"], Integer(0, 500)),
        (["0.1", "0.5", "3"], Float(0.1, 3)),
        (["1.0", "5", "3"], Float(1, 5)),
        (["1e-4", "0.5", "3"], Float(1e-4, 3, log=True)),
        (["1e-4", "1e-2", "1e-3"], Float(1e-4, 1e-2)),
        (["0.0", "0.5", "300"], Float(0, 300)),
        (["1", str(2**60), "3"], Float(1, 2.0**60, log=True)),
        (["sgd", "adam", "sgd"], Categorical(["sgd", "adam"])),
        (["True", "false", "TRUE"], Categorical([False, True])),
        (["true", "other", "true"], Categorical(["true", "other"])),
        (["1_0", "2_0", "1_0"], Categorical(["1_0", "2_0"])),
        (["adam"] * 3, Constant("adam")),
        (["3"] * 3, Constant(3)),
        (["0.5", "0.50", ".5"], Constant(0.5)),
        (["true", "True", "TRUE"], Constant(True)),
    ],
)
def test_columns_suggest_parameters(
    write: Write, cells: list[str], parameter: Parameter | Constant
) -> None:
    lines = [f"{cell},{i},{3**i},0.5" for i, cell in enumerate(cells)]
    space = read(write("\n".join(["p,x,epoch,loss", *lines]))).space
    assert space.parameters["p"] == parameter
    assert type(space.parameters["p"]) is type(parameter)


@pytest.mark.parametrize(
    ("low", "high", "integer"), [("1", "27", True), ("1.0", "27", True), ("0.25", "1", False)]
)
def test_the_fidelity_is_an_integer_if_all_recorded_ones_are(
    write: Write, low: str, high: str, integer: bool
) -> None:
    fidelity = read(write(f"x,z,loss\n1,{low},1\n1,{high},1\n2,{low},1\n"), "z").fidelity
    assert (fidelity.name, fidelity.low, fidelity.high) == ("z", float(low), float(high))
    assert fidelity.integer == integer


def test_named_columns_make_the_space_and_others_are_ignored(write: Write) -> None:
    path = write("run,x,y,epoch,error,loss\na,1,3,1,0.5,9\nb,2,4,1,0.6,8\nc,2,4,9,0.2,7\n")
    table = read(path, loss="error", space=["y", "x"])
    assert list(table.space.parameters) == ["y", "x"]
    assert table.configs == ({"y": 3, "x": 1}, {"y": 4, "x": 2})
    assert table.losses.tolist() == [0.5, 0.6, 0.2]


def test_a_space_determines_the_values_of_cells(write: Write) -> None:
    space = Space(
        {
            "flag": Categorical([True, False]),
            "depth": Ordinal([2, 4, 8]),
            "schedule": Categorical([None, "cosine"]),
            "features": Categorical(["sqrt", 0.5]),
            "units": Integer(1, 1000),
            "classes": Constant(10),
            "absent": Constant("same"),
        }
    )
    path = write(
        "flag,depth,schedule,features,units,classes,epoch,loss\n"
        "true,2,,sqrt,16.0,10,1,0.5\nFalse,8.0,cosine,0.50,32,10.0,9,0.4\n"
    )
    table = read(path, space=space)
    assert table.space is space
    assert table.configs == (
        {
            **{"flag": True, "depth": 2, "schedule": None, "features": "sqrt"},
            **{"units": 16, "classes": 10, "absent": "same"},
        },
        {
            **{"flag": False, "depth": 8, "schedule": "cosine", "features": 0.5},
            **{"units": 32, "classes": 10, "absent": "same"},
        },
    )


def test_a_file_written_by_a_spreadsheet_is_read(write: Write) -> None:
    path = write('\ufeff"x", c ,epoch,"loss"\r\n\r\n1,"a, b",1,0.5\r\n 2 ,c,9, 0.4\r\n')
    table = read(path)
    assert table.configs == ({"x": 1, "c": "a, b"}, {"x": 2, "c": "c"})
    assert table.losses.tolist() == [0.5, 0.4]


def test_runs_are_sorted_by_first_appearance_and_fidelity(write: Write) -> None:
    table = read(write("x,epoch,loss\n2,9,1\n1,1,2\n2.0,1,3\n1,9,4\n"))
    assert [config["x"] for config in table.configs] == [2, 1]
    assert table.owners.tolist() == [0, 0, 1, 1]
    assert table.fidelities.tolist() == [1, 9, 1, 9]
    assert table.losses.tolist() == [3, 1, 2, 4]


# What is wrong with a file

OUTSIDE = Space({"x": Float(0, 1)})


@pytest.mark.parametrize(
    ("text", "space", "message"),
    [
        ("", None, "runs.csv is empty. It needs a header and one line per run."),
        ("x,epoch,loss\n", None, "runs.csv has a header but no runs."),
        ("x,step,loss\n1,1,1\n", None, "no column 'epoch'. Its columns: x, step, loss. Say which"),
        ("x,epoch,acc\n1,1,1\n", None, "no column 'loss'. Its columns: x, epoch, acc. Say which"),
        ("x,epoch,loss\n1,1,1\n", ["y"], "no column 'y'. Its columns: x, epoch, loss."),
        ("y,epoch,loss\n1,1,1\n", OUTSIDE, "no column 'x'. Its columns: y, epoch, loss."),
        ("x,x,epoch,loss\n1,1,1,1\n", None, "two columns named 'x'. Rename one."),
        ("x,epoch,loss\n1,1,1\n1,2\n", None, "line 3: it has 2 cells, the header has 3."),
        ("x,epoch,loss\n1,1,1\n\n1,2,3,4\n", None, "line 4: it has 4 cells, the header has 3."),
        ("x,epoch,loss\n1,1,bad\n", None, "line 2: `loss` must be a number, got 'bad'."),
        ("x,epoch,loss\n1,one,1\n", None, "line 2: `epoch` must be a number, got 'one'."),
        ("x,epoch,loss\n1,0,1\n", None, "line 2: `epoch` must be a number above 0, got '0'."),
        ("x,epoch,loss\n1,,1\n", None, "line 2: `epoch` must be a number above 0, got ''."),
        ("x,epoch,loss\n1,inf,1\n", None, "line 2: `epoch` must be a number above 0, got 'inf'."),
        ("x,epoch,loss\n1,1,1\n,2,1\n", None, "line 3: `x` is empty. Every run needs all"),
        ("x,epoch,loss\n1,1,1\n0.0.1,2,1\n", None, "line 3: `x` has '0.0.1' among numbers."),
        ("x,epoch,loss\n1,1,1\nnan,2,1\n", None, "line 3: `x` has 'nan' among numbers."),
        ("x,epoch,loss\n1,1,1\n2,1,1\n1.0,1,2\n", None, "line 4: it has the same configuration"),
        ("x,epoch,loss\n1,1,1\n2,1,1\n1,1,2\n", None, "fidelity as line 2. Keep one of them"),
        ("x,epoch,loss\n1,1,1\n1,2,2\n", None, "has no parameter to search: the values of x"),
        ("epoch,loss\n1,1\n", None, "to search: it has no columns besides the"),
        ("x,epoch,loss\n0,1,1\n1.5,1,1\n", OUTSIDE, "line 3: `x` must be a number in [0.0, 1.0]"),
        ("x,epoch,loss\n0,1,1\none,1,1\n", OUTSIDE, "line 3: `x` must be a number in [0.0, 1.0]"),
        ('x,epoch,loss\n"1"2,1,1\n', None, "line 2: "),
        ("x,epoch,loss\n1,1,1\n", "x", "`space` must be a Space or a list of columns, got 'x'."),
        ("x,epoch,loss\n1,1,1\n2,1,2\n", ["x", "loss"], "'loss' of runs.csv can be only one"),
        (
            ",x,epoch,loss\n0,1,1,1\n",
            None,
            "Column 1 of runs.csv has no name. Give it one, or name",
        ),
    ],
)
def test_an_invalid_file_is_refused_with_a_reason(
    write: Write, text: str, space: SpaceOrColumns, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(write(text), space=space)
    assert message in str(caught.value)


def test_a_space_that_is_a_dict_is_not_taken_for_a_list_of_columns(write: Write) -> None:
    given: Any = {"x": Float(0, 9)}
    with pytest.raises(DataError, match="`space` must be a Space or a list of columns, got {'x'"):
        read(write("x,epoch,loss\n1,1,1\n"), space=given)


def test_one_column_cannot_be_fidelity_and_loss(write: Write) -> None:
    with pytest.raises(DataError, match="'loss' of runs.csv can be only one of"):
        read(write("x,epoch,loss\n1,1,1\n2,1,1\n"), "loss")


def test_an_index_that_pandas_wrote_can_be_left_out(write: Write) -> None:
    table = read(write(",x,epoch,loss\n0,1,1,1\n1,2,3,1\n"), space=["x"])
    assert list(table.space.parameters) == ["x"]


def test_an_unreadable_file_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none.csv cannot be read: No such file"):
        read(tmp_path / "none.csv")
    binary = tmp_path / "runs.csv"
    binary.write_bytes(b"x,epoch,loss\n\xff\xfe,1,1\n")
    with pytest.raises(DataError, match="is not UTF-8 text. Save it as UTF-8."):
        read(binary)
