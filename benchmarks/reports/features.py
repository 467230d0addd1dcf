"""What each score takes and gives, asked of the scores: the table of features in docs/reference/scores.md."""

import numpy as np

from benchmarks.reports.tables import header
from drbo.choices import HIDDEN_SCORE
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, ScoreError
from drbo.scores.base import Score
from drbo.scores.forms import CountForm, RowForm
from drbo.scores.registry import SCORES, build_score, needs_of, score_class

TITLES = (
    "score | columns | weights | groups | missing cells by EM | piece by piece | experiments | hidden causes | "
    "compiled steps | compiled proofs | test of independence"
)
WEIGHTS = {"none": "", "equal": "equal ones", "counts": "whole numbers", "any": "yes"}
ROWS = 40


def _column(levels: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return numbers (0 levels), or places of levels, each of which occurs."""
    return rng.normal(size=ROWS) if not levels else rng.permutation(np.arange(ROWS) % levels).astype(np.float64)


def table(*levels: int) -> Statistics:
    """Return a table whose columns have so many levels; 0: numbers.

    Examples
    --------
    >>> table(0, 2).kinds
    ('numeric', 'categorical')
    """
    rng = np.random.default_rng(0)
    values = np.column_stack([_column(each, rng) for each in levels])
    kinds = tuple("categorical" if each else "numeric" for each in levels)
    words = tuple(tuple("abc"[:each]) if each else None for each in levels)
    return Statistics(values, tuple("wxyz"[: len(levels)]), kinds, words)


#: Kinds of tables, by what their columns hold, from the most general to parts of it.
TABLES = {
    "numbers and categories": table(0, 0, 3),
    "numbers": table(0, 0, 0),
    "categories": table(3, 3, 3),
    "two values": table(2, 2, 2),
}


def built(name: str, given: Statistics, **options: object) -> Score | None:
    """Return the score of a table; None: it does not take such a table, or such options."""
    try:
        return build_score(name, given, options)
    except (DataError, ScoreError):
        return None


def columns_of(name: str) -> str:
    """Return which columns a score takes."""
    taken = [kind for kind, given in TABLES.items() if built(name, given) is not None]
    if "numbers and categories" in taken:
        return "numbers, categories"
    return ", ".join(kind for kind in taken if kind != "two values" or "categories" not in taken)


def _experiments(name: str, given: Statistics) -> str:
    targets = np.zeros((given.n_rows, given.n_columns), dtype=bool)
    targets[::4, 0] = True
    if score_class(name).by_experiment:
        return "finds what they change"
    return "known hard targets" if built(name, given, targets=targets) is not None else ""


def _compiled(score: Score) -> tuple[str, str]:
    form = score.compiled()
    if form is None:
        return "", ""
    kind = "counts" if isinstance(form, CountForm) else "rows" if isinstance(form, RowForm) else "regressions"
    return kind, "yes" if form.tabled else ""


def row_of(name: str) -> tuple[str, ...]:
    """Return the cells of a score.

    Examples
    --------
    >>> row_of("bge")[:6]
    ('`bge`', 'numbers', 'yes', 'yes', 'yes', 'yes')
    """
    kind = score_class(name)
    given, score = next((one, made) for one in TABLES.values() if (made := built(name, one)) is not None)
    needs, in_pieces = needs_of(kind), "rows" not in needs_of(kind) and not kind.by_experiment
    return (
        f"`{name}`", columns_of(name), WEIGHTS[kind.row_weights], "yes" * (kind.row_weights == "any"),
        "yes" * (needs <= {"moments"}), "yes" * in_pieces, _experiments(name, given),
        "yes" * (name == HIDDEN_SCORE), *_compiled(score), kind.independence,
    )  # fmt: skip


def features() -> str:
    """Return the table of all scores."""
    rows = (" | ".join(cell or " " for cell in row_of(name)) for name in sorted(SCORES))
    return header(TITLES) + "".join(f"| {row} |\n" for row in rows)
