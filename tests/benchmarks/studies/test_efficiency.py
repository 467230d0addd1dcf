from pathlib import Path

import numpy as np

from benchmarks import rows as table
from benchmarks.gp import TableScore
from benchmarks.studies.efficiency import PARTS, one_run, summary
from drbo.data.table import Table
from drbo.scores.base import Families
from drbo.settings import Settings

PAGE = Path(__file__).parents[3] / "docs" / "efficiency.md"


def test_the_page_is_made_from_the_rows():
    rows = table.load(table.FOLDER / "efficiency.csv")
    assert "\n".join(summary(rows)) in PAGE.read_text()


def test_a_table_score_looks_its_values_up():
    values = np.arange(3 * 8.0).reshape(3, 8)
    score = TableScore(Table.from_array(np.random.default_rng(0).normal(size=(100, 3))), values)
    families = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    assert score.local(families).tolist() == [values[2, 3], values[0, 0], values[1, 4]]
    assert score.family_price(families).tolist() == [-2 * np.log(100), 0.0, -np.log(100)]


def test_every_part_is_a_setting():
    for _, changes in PARTS.values():
        assert isinstance(Settings(**changes), Settings)


def test_a_small_run_counts_what_it_spends():
    row = one_run("5ER1", "default", 12, 0, 1)
    assert row["n_local"] <= 12 * 5
    assert row["reached"] == (row["score"] >= row["goal"] - 1e-6)
    assert "5ER1" in summary([row])[-1]
