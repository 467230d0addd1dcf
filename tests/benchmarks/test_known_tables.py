"""Real tables of which something is known: names that cannot help, and arrows that are right."""

import pandas as pd
import pytest

from benchmarks import known_tables
from benchmarks.gran_dag import Unavailable
from benchmarks.known_tables import KnownTable, known_table, levels, listed, loaded, plain


def test_every_line_of_the_list_can_be_read():
    kinds = {kind: listed(kind) for kind in ("roots", "tiers")}
    assert all(len(lines) > 5 for lines in kinds.values())
    for lines in kinds.values():
        assert len({(line["package"], line["table"]) for line in lines}) == len(lines)
        assert all(line["known"].split() for line in lines)
    assert all(";" in line["known"] for line in kinds["tiers"])


def test_names_and_levels_are_neutral_and_incomplete_rows_are_left_out(monkeypatch):
    frame = pd.DataFrame(
        {
            "rownames": range(4),
            "sex": ["male", "female", "male", None],
            "smokes": [True, False, False, True],
            "income": [1.0, 2.5, 3.0, 4.0],
        }
    )
    monkeypatch.setattr(known_tables, "loaded", lambda *_: frame)
    line = {"kind": "roots", "package": "p", "table": "t", "drop": "rownames absent", "known": "sex"}
    found = known_table(None, line)
    assert found.name == "p/t"
    assert found.frame.to_dict("list") == {
        "c0": ["L1", "L0", "L1"],
        "c1": ["L1", "L0", "L0"],
        "c2": [1.0, 2.5, 3.0],
    }
    assert found.tiers == {"c0": 0, "c1": 1, "c2": 1}
    assert found.neutral == {"sex": "c0", "smokes": "c1", "income": "c2"}


def test_a_long_table_is_sampled(monkeypatch):
    monkeypatch.setattr(known_tables, "loaded", lambda *_: pd.DataFrame({"a": range(6_000), "b": 1.5, "c": 2.5}))
    line = {"kind": "tiers", "package": "p", "table": "t", "drop": "", "known": "b;a"}
    found = known_table(None, line)
    assert found.frame.shape == (5_000, 2)  # c has no tier
    assert found.tiers == {found.neutral["b"]: 0, found.neutral["a"]: 1}


def test_an_arrow_is_right_if_it_points_to_the_later_tier():
    table = KnownTable("t", pd.DataFrame(), {"a": 0, "b": 1, "c": 1}, {})
    assert table.verdict("a", "b") == "right"
    assert table.verdict("c", "a") == "wrong"
    assert table.verdict("b", "c") == ""


def test_numbers_stay_and_other_columns_become_levels():
    assert levels(pd.Series([2, 1, 2])).tolist() == ["L1", "L0", "L1"]
    assert plain(pd.DataFrame({"a": [0.5, 1.5]}))["a"].tolist() == [0.5, 1.5]


def test_a_missing_package_is_named(tmp_path):
    with pytest.raises(Unavailable, match="pip install"):
        loaded(tmp_path, "AER", "Affairs")
    assert loaded(tmp_path, "sklearn", "diabetes").shape == (442, 11)
