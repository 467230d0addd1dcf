from drbo.data.checks.facts import ColumnFacts


def test_a_column_has_a_range_or_levels():
    numbers = {"mean": 1.0, "sd": 2.0, "min": 0.0, "max": 3.0}
    assert ColumnFacts(name="a", kind="numeric", distinct=2, counts=(1, 1), **numbers).is_numeric
    assert not ColumnFacts(name="a", kind="categorical", distinct=2, counts=(1, 1), levels=("u", "v")).is_numeric


def test_a_file_that_calls_levels_numbers_gives_no_range():
    assert not ColumnFacts(name="a", kind="numeric", distinct=2, counts=(1, 1), mean=1.0).is_numeric
