"""How large the effect of every column on the outcome is, where a fit was told which column matters."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.deadline import OutOfTimeError
from drbo.errors import DataError, first_of
from drbo.result.effects import SEEN, Effect, Effects
from drbo.result.identified_effects import IdentifiedEffects
from drbo.result.records import OutcomeRecord, Size

if TYPE_CHECKING:
    from drbo.arrays import Bools
    from drbo.data.statistics.statistics import Statistics
    from drbo.result.result import Result

#: A column with more assumed arrows keeps them as they are drawn: there are too many ways to reverse them.
MOST_REVERSED = 8
NAMED = 5  # of them
#: In wider tables, effects of columns from which nothing leads to the outcome are not estimated.
MOST_COLUMNS = 100


def with_outcome(result: "Result", table: "Statistics") -> "Result":
    """Return a result with the sizes of effects on its outcome; one without an outcome as it is."""
    if not (name := result.table.outcome):
        return result
    return replace(result, outcome=outcome_of(result, table, SEEN, name))


def outcome_of(result: "Result", table: "Statistics", basis: str, name: str) -> OutcomeRecord:
    """Return the sizes of effects on a column, estimated from the rows of a table."""
    pairs = [(cause, name) for cause in _causes(result, name)]
    try:
        found: Any = result.reading.effects(table, basis, pairs, keep_zeros=True)
    except (DataError, OutOfTimeError) as error:
        return OutcomeRecord(column=name, basis=basis, left_out=str(getattr(error, "message", error)))
    record = outcome_record(name, found)
    if not (hubs := _hubs(result.assumed)):
        return record
    named = first_of([result.names[k] for k in hubs], NAMED)
    told = f"arrows at {named} are taken as drawn, because too many are assumed there"
    return replace(record, left_out="; ".join(filter(None, (record.left_out, told))))


def _causes(result: "Result", name: str) -> list[str]:
    """Return the columns whose effects are estimated: all others, or in wide tables those that lead to the outcome."""
    names, goal = result.names, result.names.index(name)
    if len(names) <= MOST_COLUMNS:
        return [other for other in names if other != name]
    links = result.reading.causal_links()
    found, size = {goal}, 0
    while len(found) > size:
        size = len(found)
        found |= {cause for cause, effect, _ in links if effect in found}
    return [names[k] for k in sorted(found - {goal})]


def outcome_record(name: str, found: Effects | IdentifiedEffects) -> OutcomeRecord:
    """Return the record of effects on a column."""
    return OutcomeRecord(column=name, basis=found.basis, sizes=_sizes(found), left_out=found.left_out)


def _sizes(found: Effects | IdentifiedEffects) -> tuple[Size, ...]:
    sizes = list[Size]()
    for one in found.effects:
        if isinstance(one, Effect):
            told = {"contrast": one.contrast, "level": one.level}
            sizes.append(Size(cause=one.source, **told, total=one.total, low=one.low, high=one.high,
                              probability=one.probability))  # fmt: skip
        elif one.total is None:
            sizes.append(Size(cause=one.source))
        else:
            sizes.append(Size(cause=one.source, total=(one.total,), low=one.low or 0.0, high=one.high or 0.0))
    return tuple(sizes)


def reversible(assumed: "Bools") -> "Bools":
    """Return the assumed arrows that are tried both ways: not those of columns with very many."""
    kept, hubs = assumed.copy(), _hubs(assumed)
    kept[hubs] = kept[:, hubs] = False
    return kept


def _hubs(assumed: "Bools") -> list[int]:
    return np.flatnonzero((assumed | assumed.T).sum(axis=1) > MOST_REVERSED).tolist()
