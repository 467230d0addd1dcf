import numpy as np
import pytest

from drbo.data.table import Table
from drbo.scores.auto import choose_score
from drbo.scores.base import build_score


def _linear(rng, n=200, d=4):
    return rng.normal(size=(n, d)) @ (np.eye(d) + np.triu(rng.normal(size=(d, d)), 1))


def _table(values, categorical=()):
    """A table whose named columns are categories of their whole numbers."""
    d = values.shape[1]
    kinds = tuple("categorical" if j in categorical else "numeric" for j in range(d))
    levels = [tuple("abcdefgh"[: int(values[:, j].max()) + 1]) if j in categorical else None for j in range(d)]
    return Table(values.astype(float), tuple(f"x{j}" for j in range(d)), kinds, tuple(levels))


def _examples(rng):
    linear, codes = _linear(rng), rng.integers(3, size=(200, 4))
    bent = rng.normal(size=(200, 3))
    bent[:, 1] = bent[:, 0] ** 2 + 0.3 * bent[:, 1]
    return {
        "numbers": (_table(linear), {"bic-nv"}),
        "few rows": (_table(_linear(rng, n=4)), {"bic-nv"}),
        "categories": (_table(codes, range(4)), {"bdeu"}),
        "codes": (_table(codes), {"bdeu"}),
        "both": (_table(np.column_stack([linear, codes]), range(4, 8)), {"mixed"}),
        "curves": (_table(bent), {"gp", "splines"}),
    }


EXAMPLES = pytest.mark.parametrize("name", ["numbers", "few rows", "categories", "codes", "both", "curves"])


@EXAMPLES
def test_the_choice_fits_the_table_and_says_why(name, rng):
    table, expected = _examples(rng)[name]
    score, reasons = choose_score(table)
    assert score in expected
    assert reasons[0].startswith(f"score {score}: ")
    assert build_score(score, table).name == score


@EXAMPLES
def test_units_and_order_do_not_change_the_choice(name, rng):
    table, _ = _examples(rng)[name]
    score, _ = choose_score(table)
    rows, columns = rng.permutation(table.n_rows), rng.permutation(table.n_columns)
    assert choose_score(table.take(rows, columns))[0] == score
    if set(table.kinds) == {"numeric"}:
        scaled = table.values * 10.0 ** rng.integers(-9, 9, table.n_columns)
        assert choose_score(Table.from_array(scaled))[0] == score


def test_an_equal_variance_score_is_never_chosen(rng):
    """Equal variances are an assumption about units, even where they hold."""
    assert not any(choose_score(table)[0] == "bic-ev" for table, _ in _examples(rng).values())
