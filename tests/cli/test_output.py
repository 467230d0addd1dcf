"""Tables are written as their names say."""

from pathlib import Path

import numpy as np
import pytest

from drbo.cli.messages import OutputError
from drbo.cli.output import write_table
from drbo.data.reading.read import read_table
from drbo.errors import SettingsError

NUMBERS = np.array([[0.1 + 0.2, -1e-17], [1e22, 3.0], [5.0, 1 / 3]])


@pytest.mark.parametrize("name", ["table.csv", "table.npz", "TABLE.CSV"])
def test_a_table_reads_back_to_the_last_bit(folder: Path, name: str) -> None:
    write_table(Path(name), NUMBERS, ["a,b", "µ"])
    frame = read_table(name)
    assert frame.columns.tolist() == ["a,b", "µ"]
    np.testing.assert_array_equal(frame.to_numpy(), NUMBERS)


def test_a_table_to_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write_table(None, np.array([[0.0, 1.0]]), ["a", "b"], whole=True)
    assert capfdbinary.readouterr().out == b"a,b\n0,1\n"


def test_a_table_that_cannot_be_written(folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"\.csv or \.npz, got 'table.xlsx'"):
        write_table(Path("table.xlsx"), NUMBERS, ["a", "b"])
    with pytest.raises(OutputError, match=r"absent/table\.csv cannot be written"):
        write_table(Path("absent/table.csv"), NUMBERS, ["a", "b"])
