"""A table holds the rows of one version, and says which; older rows are marked."""

from collections import defaultdict

import pytest

from benchmarks.reports import versions
from benchmarks.rows import FOLDER, read

ROWS = [
    {"drbo": "0.1.0", "commit": "", "shd": "9"},
    {"drbo": f"{versions.CURRENT}.dev0", "commit": "abc", "shd": "1"},
    {"drbo": "", "commit": "", "shd": "5"},
]


def _table(rows):
    return "".join(f"| {row['shd']} |\n" for row in rows)


def test_rows_of_several_versions_are_refused_in_one_table():
    assert versions.one(ROWS[1:], "a table") == versions.CURRENT
    with pytest.raises(versions.MixedVersionsError, match="a table has rows of drbo"):
        versions.one(ROWS, "a table")


def test_rows_of_several_versions_make_several_tables_the_newest_first():
    assert versions.tables(ROWS, _table) == (
        f"| 1 |\n| 5 |\n\nMeasured with drbo {versions.CURRENT}.dev0 (commit abc).\n\n"
        "| 9 |\n\nMeasured with drbo 0.1.0 (commit not recorded), not yet measured again with this version.\n"
    )


def test_a_page_of_older_rows_says_so():
    again = "not yet measured again with this version"
    assert versions.listed(ROWS) == f"\nRows of drbo {versions.CURRENT}; 0.1.0, {again}.\n"
    assert versions.listed([]) == ""


def test_rows_of_other_programs_alone_have_no_version():
    assert versions.said(ROWS[2:]) == "Not measured with drbo."


def test_the_data_sets_are_the_same_in_all_versions():
    """Rows of other programs, measured beside an older version, may stand beside rows of this one."""
    found = defaultdict(list)
    for path in sorted((FOLDER / "run").glob("*.csv")):
        for row in read(f"run/{path.stem}"):
            if row.get("true_score"):
                found[row["data"], row["seed"], row["score"]].append((row["drbo"], float(row["true_score"])))
    several = {key: scores for key, scores in found.items() if len({version for version, _ in scores}) > 1}
    assert len(several) > 100
    for key, scores in several.items():
        values = [score for _, score in scores]
        assert values == pytest.approx([values[0]] * len(values), rel=1e-6), key
