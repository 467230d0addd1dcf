"""Tables of series and panels."""

from collections.abc import Iterable

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped
from benchmarks.studies.series import CELLS

#: The order of the kinds of tables.
RANKS = {name: place for place, name in enumerate(CELLS)}


def found(rows: list[Row]) -> str:
    """Return what each method finds of the edges of every kind of table."""
    text = header("tables | method | lagged edges: F1 | precision, recall | links within a row: F1 | "
                  "their directions right | CPU seconds")  # fmt: skip
    for cell, method, here in _parts(row for row in rows if not CELLS[row["cell"]].null):
        right, claimed, true = (_sum(here, f"lagged_{what}") for what in ("right", "found", "true"))
        text += (
            f"| {cell} ({len(here)}) | {method} | {_f1(here, 'lagged')} | {_share(right, claimed)}, "
            f"{_share(right, true)} | {_f1(here, 'links')} | "
            f"{_sum(here, 'arrows_right')} of {_sum(here, 'arrows_found')} | {_seconds(here)} |\n"
        )
    return text


def supported(rows: list[Row]) -> str:
    """Return how many supported arrows of fits are right."""
    text = header("tables | lagged arrows | supported | of these right | arrows within a row supported | right")
    for cell, _, here in _parts(row for row in rows if row["method"] == "drbo" and not CELLS[row["cell"]].null):
        lagged, now = (
            (_sum(here, f"supported_{what}"), _sum(here, f"supported_{what}_right")) for what in ("lagged", "now")
        )
        text += (
            f"| {cell} ({len(here)}) | {_sum(here, 'lagged_found')} | {lagged[0]} | {_share(*lagged[::-1])} | "
            f"{now[0]} | {_share(*now[::-1])} |\n"
        )
    return text


def nulls(rows: list[Row]) -> str:
    """Return the false edges of every method in tables whose columns do not act on each other."""
    text = header(
        "tables | method | false lagged edges of a table | false links within a row | supported | CPU seconds"
    )
    for cell, method, here in _parts(row for row in rows if CELLS[row["cell"]].null):
        means = " | ".join(f"{_sum(here, f'{what}_found') / len(here):.1f}" for what in ("lagged", "links"))
        claimed = sum(_sum(here, f"supported_{what}") for what in ("lagged", "now")) if method == "drbo" else "-"
        text += f"| {cell.removeprefix('null ')} ({len(here)}) | {method} | {means} | {claimed} | {_seconds(here)} |\n"
    return text


def _parts(rows: Iterable[Row]) -> list[tuple[str, str, list[Row]]]:
    parts = grouped(list(rows), "cell", "method")
    ordered = sorted(parts, key=lambda key: (RANKS[key[0]], key[1] != "drbo", key[1]))
    return [(*key, parts[key]) for key in ordered]


def _sum(rows: list[Row], name: str) -> int:
    return sum(int(row[name] or 0) for row in rows)


def _share(right: int, total: int) -> str:
    return f"{right / total:.2f}" if total else "-"


def _f1(rows: list[Row], what: str) -> str:
    right, claimed, true = (_sum(rows, f"{what}_{part}") for part in ("right", "found", "true"))
    return _share(2 * right, claimed + true)


def _seconds(rows: list[Row]) -> str:
    return f"{sum(float(row['cpu_seconds']) for row in rows) / len(rows):.1f}"
