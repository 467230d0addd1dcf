from benchmarks.reports.searches import efficiency as table
from benchmarks.studies.efficiency import SWITCHED, one_run
from drbo.settings import Settings


def test_every_part_is_a_setting():
    for _, changes in SWITCHED.values():
        assert isinstance(Settings().with_(**changes), Settings)


def test_a_small_run_counts_what_it_spends():
    row = one_run("5ER1", "default", 12, 0)
    assert row["n_local"] <= 12 * 5
    assert row["reached"] == (row["score"] >= row["goal"] - 1e-6)
    words = {name: str(value) for name, value in row.items()}
    assert "| 5ER1 | everything | 0.2.0 | 12 | 1 |" in table([{**words, "drbo": "0.2.0.dev0"}])
