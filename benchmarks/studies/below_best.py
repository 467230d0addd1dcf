"""How often a search ends below another search of the same table that only has another seed.

    python -m benchmarks below_best

Tables of all kinds of benchmarks/experiments/field_kinds.py, with 8 to 20 columns. Every table is fitted with several
seeds and ``Settings(claims=False)``: nothing is left out but what is said about the answer. A table counts as ``below``
if a seed ends more than a millionth of the score below the best seed.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

from benchmarks.experiments.field_kinds import FIELD_KINDS, drawn
from benchmarks.parameters import Names, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import Cell, study
from drbo import DataPolicy, DrBO, Settings

#: Differences of scores that are rounding, as a share of the score.
ROUNDING = 1e-6
SEARCH, POLICY = Settings(claims=False), DataPolicy(on_constant="drop", on_collinear="drop")


@study("below_best", "kind n seed", kinds=("gamma",), seeds=range(100, 101), rows=300, searches=2)
def run(
    kinds: Annotated[Names, "kinds of tables"] = tuple(FIELD_KINDS),
    seeds: Seeds = range(17),
    rows: SampleSize = 500,
    searches: Annotated[int, "seeds of the search on each table"] = 4,
) -> Iterator[Cell]:
    """Yield what the searches of every table found."""
    for seed in seeds:
        for kind in kinds:
            yield Cell({"kind": kind, "n": rows, "seed": seed}, partial(_searched, kind, rows, seed, searches))


def _searched(kind: str, n: int, seed: int, searches: int) -> Row:
    frame = drawn(kind, n, seed).frame
    results = [DrBO(settings=SEARCH, policy=POLICY, random_state=one).fit(frame).result_ for one in range(searches)]
    scores = [result.pruned_score for result in results]
    short = max(scores) - min(scores)
    return {
        "columns": frame.shape[1],
        "score": results[0].scoring.name,
        "found": " ".join(f"{score:.6f}" for score in scores),
        "below": int(short > ROUNDING * abs(max(scores))),
        "short": round(short, 6),
    }
