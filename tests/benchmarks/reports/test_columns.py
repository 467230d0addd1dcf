"""Tables of many columns."""

from benchmarks.reports import columns


def test_columns_are_told_by_graph_and_growth_by_its_exponents():
    common = {"graph": "100ER2", "seed": "0", "score": "12.5", "true_score": "10", "restarts": "20"}
    rows = [
        {**common, "method": "drbo", "reached_seconds": "0.5", "cpu_seconds": "3", "shd_c": "1"},
        {**common, "method": "FLOP, equal penalty", "reached_seconds": "", "cpu_seconds": "2", "shd_c": "4"},
        {**common, "method": "FLOP, recommended", "reached_seconds": "", "cpu_seconds": "2", "shd_c": "6"},
    ]
    expected = "| 100ER2 | 20 | 1 of 1 | **0.50** | 2.00 | 3.00 | 1.0 | 4.0 | 6.0 | 2.5 | 2.5 |"
    assert columns.beside(rows).splitlines()[-1] == expected
    failed = [{**row, "shd_c": "", "failed": "no"} if "FLOP" in row["method"] else row for row in rows]
    assert "| no answer | 3.00 | 1.0 | no answer | no answer | 2.5 | no answer |" in columns.beside(failed)
    sizes = {"f1": "0.99", "seconds": "9", "search_seconds": "1"}
    rows = [
        {**sizes, "columns": str(d), "cpu_seconds": str(d**1.5), "gib": str(d**2 / 1e6)} for d in (3_000, 1_000, 500)
    ]
    table = columns.growth([*rows, {**rows[-1], "cpu_seconds": str(3 * 500**1.5)}])
    assert table.splitlines()[2].startswith("| 500 | 2 | 22360.7 | 1.0 | 9.0 | 0.25 |")
    assert "CPU time grows with the power 1.5 of the number of columns and memory with the power 2.0" in table
    assert columns.picture(rows).startswith(b"<?xml")


def test_a_whole_fit_is_told_beside_flop():
    common = {"table": "20ER2", "columns": "20", "n": "1000", "score_name": "bic-nv"}
    ours = {**common, "method": "drbo", "cpu_seconds": "1", "search_seconds": "0.1", "stability_seconds": "0.4"}
    theirs = {**common, "method": "FLOP", "cpu_seconds": "0.4"}
    real = {**ours, "table": "psych/bfi", "columns": "2"}
    table = columns.whole([real, ours, {**ours, "cpu_seconds": "3"}, theirs]).splitlines()
    assert table[2] == "| 20ER2 | 20 | 1,000 | 2 | bic-nv | **2.00** | 0.10 | 0.40 | 0.40 | 5.0 |"
    assert table[3] == "| psych/bfi | 2 | 1,000 | 1 | bic-nv | **1.00** | 0.10 | 0.40 |  |  |"
    assert "no answer" in columns.whole([ours, {**theirs, "cpu_seconds": "", "failed": "FLOP error"}])


def test_a_proof_is_told_by_what_it_adds():
    common = {"graph": "20ER2", "search_seconds": "0.1", "without_seconds": "0.5"}
    rows = [{**common, "cpu_seconds": "1", "proved": "True"}, {**common, "cpu_seconds": "2", "proved": "False"}]
    assert columns.proof(rows).splitlines()[-1] == "| 20ER2 | 0.10 | 0.50 | 1.50 | 1 of 2 |"
