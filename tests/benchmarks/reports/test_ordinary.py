"""Tables of kinds of columns, walks and trials."""

from benchmarks.reports import ordinary


def row(method, f1, **others):
    return {"kind": "counts", "columns": "10", "method": method, "f1": str(f1), "shd_c": "2", **others}


def test_methods_are_compared_on_the_same_tables_and_the_best_score_is_named():
    rows = [row("auto", 0.5), row("auto", 0.7), row("FLOP, numbers", 0.9), row("FLOP, ranks", 0.4)]
    rows += [row("FLOP, ranks", 0.8), row("bic-nv", 0.5), row("bic-nv", 0.6), row("splines", 0.9), row("splines", 0.5)]
    assert ordinary.kinds(rows).splitlines()[-1] == (
        "| counts | 10 | 2 | 0.600 (2.0) | - | 0.600 (2.0) | - | - | 0.700 (2.0), `splines` |"
    )


def test_refused_walks_are_counted():
    rows = [{"refused": "no", "check_cpu_seconds": "1.5", "fit_cpu_seconds": "4"}]
    rows += [{"refused": "yes", "check_cpu_seconds": "0.5", "fit_cpu_seconds": ""}]
    assert ordinary.walks(rows).splitlines()[-1] == "| 2 | 1 | 1.5 | 2.0 | 4.0 |"


def test_differences_of_trials_stand_beside_the_plain_ones():
    trial = {"table": "medicaldata/x", "n": "60", "difference": "0.2", "low": "-0.1", "high": "0.5"}
    text = ordinary.trials([trial | {"plain": "0.25", "covers": "yes"}])
    assert text.splitlines()[-1] == "| x | 60 | 0.200 (-0.100 to 0.500) | 0.250 | yes |"
