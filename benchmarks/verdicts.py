"""One fit as a user makes it, and how its claims about directions compare with what is known."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.rows import Row
from drbo import DataPolicy, DrBO, DrboError, Result

#: Whether an arrow (source, target) is right, wrong, or nobody knows.
Verdict = Callable[[str, str], str]
DIRECTIONS, VERDICTS = ("supported", "assumed", "open"), ("right", "wrong")
UNKNOWN = "?"
#: Longest text of an error in a row.
LONGEST = 200


class Arrow(NamedTuple):
    """A supported arrow as rows keep it."""

    source: str
    target: str
    ground: str
    verdict: str


def fitted(frame: pd.DataFrame, verdict: Verdict, seed: int = 0, **options: Any) -> tuple[Row, Result | None]:
    """Fit a table by ``DrBO().fit`` and return the counts of a row, with the result where there is one."""
    start = time.process_time()
    policy = DataPolicy(on_constant="drop", on_collinear="drop")
    row: Row = {"n": len(frame), "columns": frame.shape[1]}
    try:
        result = DrBO(random_state=seed, policy=policy, **options).fit(frame).result_
    except DrboError as error:
        return row | {"failed": str(error)[:LONGEST]}, None
    row |= {"taken": result.score_name, "seconds": round(time.process_time() - start, 2), "failed": ""}
    return row | counts(result, verdict), result


def counts(result: Result, verdict: Verdict) -> Row:
    """Return how many arrows of each direction are right and wrong; supported arrows are listed one by one."""
    edges, found, arrows = result.edges(), Counter[str](), []
    for one in zip(edges["source"], edges["target"], edges["direction"], edges["ground"], strict=True):
        source, target, direction, ground = map(str, one)
        word = verdict(source, target)
        found.update((direction, f"{direction} {word}"))
        if direction == "supported":
            arrows.append(f"{source}>{target} {ground} {word or UNKNOWN}")
    row: Row = {"edges": len(edges)}
    for direction in DIRECTIONS:
        row |= {direction: found[direction]}
        row |= {f"{direction} {word}": found[f"{direction} {word}"] for word in VERDICTS}
    return row | {"arrows": "; ".join(arrows)}


def supported(row: Row) -> list[Arrow]:
    """Return the supported arrows of a row."""
    arrows = []
    for text in filter(None, str(row["arrows"]).split("; ")):
        ends, ground, word = text.split(" ")
        arrows.append(Arrow(*ends.split(">"), ground, word))
    return arrows
