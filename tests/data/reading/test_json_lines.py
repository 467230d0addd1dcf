"""Each line of a file is an object; what is not is named by its line."""

import json

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.data.reading import json_lines
from drbo.data.reading.read import open_source, read_table
from drbo.errors import DataError, DrboError


def _written(folder, *lines, name="t.jsonl"):
    path = folder / name
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def test_lines_are_rows_and_keys_are_columns(tmp_path):
    path = _written(tmp_path, {"a": 1, "b": "x", "c": 1.5}, {"c": None, "a": 2, "b": "y"}, {"a": 3, "c": 2})
    frame = read_table(path)
    assert frame["a"].tolist() == [1, 2, 3]
    assert frame["b"].isna().tolist() == [False, False, True]
    assert frame["c"].isna().tolist() == [False, True, False]
    assert list(read_table(path.rename(tmp_path / "t.ndjson"), columns=["a", "c"])) == ["a", "c"]


def test_what_pandas_writes_is_fitted_and_read_piece_by_piece(tmp_path, rng):
    x = rng.normal(size=(12_000, 3))
    x[:, 1] += x[:, 0]
    path = tmp_path / "t.jsonl"
    pd.DataFrame(x, columns=list("abc")).to_json(path, orient="records", lines=True, double_precision=15)
    pieces = list(open_source(path).batches())
    assert len(pieces) > 1
    assert np.allclose(np.concatenate(pieces), x, atol=1e-12)
    assert DrBO(random_state=0).fit(path).score_ == pytest.approx(DrBO(random_state=0).fit(x).score_)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "line 2 is not JSON"), ("[1, 2]", "line 2 is not an object"), ("{}", "line 2 is not an object"),
        ('{"a": 1, "a": 2}', "line 2 is not JSON: the key 'a' appears twice"), ('{"a": NaN}', "line 2 .* not a finite"),
        ('{"a": [1]}', "line 2: 'a' is not a single value"), ('{"a": 1, "z": 2}', "line 2: the key 'z' is not in the"),
        ('{"a": ' + "1" * 40 + "}", "line 2 has more than 40 bytes"), ("\u00ff", "line 2 is not JSON"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_row_is_named(tmp_path, monkeypatch, line, message):
    monkeypatch.setattr(json_lines, "BLOCK_BYTES", 40)
    with pytest.raises(DataError, match=message) as caught:
        read_table(_written(tmp_path, {"a": 1, "b": 2}, line))
    assert caught.value.hint


def test_a_file_without_lines_or_with_too_many_missing_cells_is_refused(tmp_path):
    with pytest.raises(DataError, match="is empty"):
        read_table(_written(tmp_path))
    path = _written(tmp_path, {f"c{k}": k for k in range(1_000)}, *['{"c0": 1}'] * 10_000)
    with pytest.raises(DrboError, match="decompresses to more than"):
        read_table(path)
