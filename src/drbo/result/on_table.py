"""What a result says about a table: whether it was learned from it, how its graph fits, and linear effects."""

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drbo.data.check import check_table
from drbo.data.read import as_frame
from drbo.errors import DataError
from drbo.result import effects
from drbo.result.judge import judge
from drbo.result.judgement import Judgement
from drbo.scores.named import score_of_file

if TYPE_CHECKING:
    from drbo.result.result import Result


def has_seen(result: "Result", X: Any) -> bool:
    """Tell whether a table is the one that the graph was learned from; a subset of its rows is not recognised."""
    frame = as_frame(X)
    if not result.table.sha256 or any(name not in frame for name in result.names):
        return False
    frame = frame[list(result.names)]
    policies: tuple[Any, ...] = ("keep", "drop")  # a fit may have used the complete rows alone
    tables = (check_table(frame, on_collinear="keep", missing=policy)[0] for policy in policies)
    return any(table.digest() == result.table.sha256 for table in tables)


def judgement(result: "Result", X: Any, options: dict[str, Any]) -> Judgement:
    """Judge the graph on rows that it was not learned from, with its own score."""
    if has_seen(result, X):
        warnings.warn("the graph was learned from these rows, so the judgement is too favourable", stacklevel=3)
    given = {"score_options": result.scoring.plain_options, "seed": result.seed, **options}
    if "score" not in given:
        given["score"] = score_of_file(result.score_name, None, "the result")
    return judge(result.dag, X, names=result.names, **given)


def effects_between(result: "Result", X: Any, source: str | None, target: str | None, missing: Any) -> effects.Effects:
    """Return linear effects between columns; None: all columns, and only pairs with an effect are returned."""
    frame = as_frame(X)
    for name in result.names:
        if name not in frame:
            raise DataError(f"the table has no column '{name}'", hint="give a table with all columns of the graph")
    table, _ = check_table(frame[list(result.names)], on_collinear="keep", missing=missing)
    basis = effects.SEEN if has_seen(result, frame) else effects.HELD_OUT
    pairs = None
    if source is not None or target is not None:
        sources = result.names if source is None else (source,)
        targets = result.names if target is None else (target,)
        pairs = [(a, b) for a in sources for b in targets if a != b or source == target]
    found = effects.effects(result.answer, table, basis=basis, pairs=pairs)
    if source is not None and target is not None:
        return found
    return replace(found, effects=tuple(one for one in found.effects if any(one.total)))
