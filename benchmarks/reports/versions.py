"""Which version and commit of drbo rows were measured with: a table holds the rows of one version alone."""

import re
from collections.abc import Callable, Iterable

import drbo
from benchmarks.rows import Row

#: Versions that were never released count as the one that they led to.
_STATE = re.compile(r"\.?dev\d*$")


class MixedVersionsError(ValueError):
    """A table has rows of several versions."""


def release(version: str) -> str:
    """Return the release that a version led to; nothing for a row that drbo did not measure.

    Examples
    --------
    >>> release("0.2.0.dev0")
    '0.2.0'
    """
    return _STATE.sub("", version or "")


#: The version of this code.
CURRENT = release(drbo.__version__)


def of_ours(row: Row) -> Row:
    """Return a row; what another program found is of no version of drbo.

    The data sets are the same in all versions: a test compares the scores of their true graphs.
    """
    return row if row["method"].startswith("drbo") else row | {"drbo": "", "commit": ""}


def _number(row: Row) -> list[int]:
    return [int(part) for part in release(row.get("drbo", "")).split(".") if part]


def replaced(rows: Iterable[Row], others: Iterable[Row], *columns: str) -> list[Row]:
    """Return rows, and others of a newer version, which take the place of those with the same columns."""
    there: dict[tuple[str, ...], list[int]] = {}
    for row in rows:
        key = tuple(row[name] for name in columns)
        there[key] = max(there.get(key, []), _number(row))
    better = [
        row for row in others if (key := tuple(row[name] for name in columns)) not in there or _number(row) > there[key]
    ]
    keys = {tuple(row[name] for name in columns) for row in better}
    return [row for row in rows if tuple(row[name] for name in columns) not in keys] + better


def mark(rows: Iterable[Row]) -> str:
    """Return the version of the rows of one method in a table of several; nothing for those of this one.

    Examples
    --------
    >>> mark([{"drbo": "0.1.0"}]), mark([{"drbo": CURRENT}]), mark([{}])
    ('; drbo 0.1.0', '', '')
    """
    found = [name for name in by_release(rows) if name not in (CURRENT, "")]
    return f"; drbo {', '.join(found)}" if found else ""


def by_release(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of every release, the newest first; rows that name none stand with the newest."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(release(row.get("drbo", "")), []).append(row)
    unnamed = found.pop("", [])
    order = sorted(found, key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    groups = {name: found[name] for name in order} or {"": []}
    newest = next(iter(groups))
    kept = {id(row) for row in (*groups[newest], *unnamed)}
    return groups | {newest: [row for row in rows if id(row) in kept]} if unnamed else groups


def one(rows: Iterable[Row], where: str) -> str:
    """Return the release of the rows of a table; refuse several."""
    found = {release(row.get("drbo", "")) for row in rows} - {""}
    if len(found) > 1:
        raise MixedVersionsError(f"{where} has rows of drbo {', '.join(sorted(found))}: run the older ones again")
    return next(iter(found), "")


def said(rows: list[Row]) -> str:
    """Return version and commits of rows of one release in words.

    Examples
    --------
    >>> said([{"drbo": "0.2.0", "commit": "1f2e3d4"}])
    'Measured with drbo 0.2.0 (commit 1f2e3d4).'
    """
    versions = sorted({row["drbo"] for row in rows if row.get("drbo")})
    if not versions:
        return "Not measured with drbo."
    commits = sorted({row["commit"] for row in rows if row.get("commit")})
    words = f"commit{'s' * (len(commits) > 1)} {', '.join(commits)}" if commits else "commit not recorded"
    older = "" if one(rows, "a table") == CURRENT else ", not yet measured again with this version"
    return f"Measured with drbo {', '.join(versions)} ({words}){older}."


def listed(rows: Iterable[Row]) -> str:
    """Return the releases of the rows of a page that compares within tables of one release each."""
    found = [name for name in by_release(rows) if name]
    again = ", not yet measured again with this version"
    words = [name if name == CURRENT else f"{name}{again}" for name in found]
    return f"\nRows of drbo {'; '.join(words)}.\n" if found else ""


def tables(rows: list[Row], table: Callable[[list[Row]], str]) -> str:
    """Return the table of every release of the rows, each with its version below it."""
    parts = [f"{table(part).rstrip()}\n\n{said(part)}\n" for part in by_release(rows).values()]
    return "\n".join(parts)
