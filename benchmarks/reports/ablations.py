"""The page of ablations, from the committed rows: called by ``python -m benchmarks report``."""

from benchmarks.methods.registry import ABLATED
from benchmarks.reports import figures, published, tables, versions
from benchmarks.rows import Row, read, spread
from drbo.settings import Settings

WIDTHS = ("0.0", "0.05", "0.01")
#: Ablations that replace a part of the paper's loop.
REPLACED = {
    "drbo paper 20k, variant retrained": "training from scratch in every iteration",
    **{f"drbo paper 20k, variant direct, hidden {hidden}": "one network for the DAG" for hidden in (64, 256, 1_024)},
    "drbo paper 5k, n_candidates 10000": "5,000 evaluations, for the next lines",
    "drbo paper 5k, variant exact-gp": "exact Gaussian processes",
    "drbo paper 5k, variant approximate-gp": "Gaussian processes by 100 inducing points",
}
#: What the paper reads off its figures, which it gives without numbers (Fig. 3, and its appendix on ablations).
SAID = {
    "rank": "lower ranks get there earlier, 32 last",
    "space": "the low rank gets there earlier",
    "batch_size": "smaller is better and slower; 64 is a balance with SHD about 0",
    "n_candidates": "10,000 is best",
    "n_grads": "values in the middle are better",
    "n_replay": "larger is better",
    "learning_rate": "only 1 is bad",
    "hidden": "32 is best, many are worse",
    "dropout": "higher rates are better",
}


def page(made: str) -> str:
    """Return one line per setting, and the figure."""
    rows = tables.rows_of("ablations")
    base = [row for row in rows if row["method"] == "drbo paper 20k"]
    text = (
        f"# Ablations\n\n{made}One knob of the paper's preset at a time: 20ER4, n = 1,000, 20,000 evaluations, pruned "
        "by |w| > 0.3. The paper's own value is the first line of each knob. Parts of our own search, one at a time: "
        "[efficiency](../evidence/efficiency.md).\n\n"
        "| knob | value | SHD | below the best score | seconds | data sets, machine |\n|---|---|---|---|---|---|\n"
    )
    for knob, values in ABLATED.items():
        for value in (getattr(Settings.preset("paper").paper, knob), *values):
            name = f"drbo paper 20k, {knob} {value}"
            part = [row for row in rows if row["method"] == name] if value in values else base
            text += _line(knob, str(value), part)
    text += "".join(
        _line(words, method, [row for row in rows if row["method"] == method]) for method, words in REPLACED.items()
    )
    text += "\n![SHD by knob](ablations.svg)\n" if rows else ""
    text += "\nWhat the paper reads off its own figures, most of them without numbers:\n\n"
    return (
        text + "".join(f"- {knob}: {words}\n" for knob, words in SAID.items()) + unique_table() + versions.listed(rows)
    )


def _line(knob: str, value: str, part: list[Row]) -> str:
    if not part:
        return ""
    cells = [spread(tables.numbers(part, name), 1) for name in ("shd", "gap", "seconds")]
    return f"| {knob} | {value} | {' | '.join(cells)} | {len(part)}, {part[0]['machine']} |\n"


def unique_table() -> str:
    """Return the table of different DAGs by rank."""
    rows = read("unique")
    text = (
        "\n## Different DAGs among 1,000 random ones, 30 nodes (`unique`)\n\nThe paper's column cannot be had from "
        "uniform vectors, which all give different DAGs. Candidates of a small trust region show its trend.\n\n"
        "| rank | paper | uniform in [-1, 1] | region of half-width 0.05 | 0.01 |\n|---|---|---|---|---|\n"
    )
    for rank, (middle, deviation) in published.UNIQUE.items():
        parts = [[row for row in rows if (row["rank"], row["length"]) == (rank, width)] for width in WIDTHS]
        counts = [spread(row["unique"] for row in part) for part in parts if part]
        text += f"| {rank} | {middle:.1f} +- {deviation:.1f} | {' | '.join(counts)} |\n"
    return text


def picture() -> bytes | None:
    """Draw the SHD of every value of every knob."""
    rows, groups = tables.rows_of("ablations"), dict[str, dict[str, list[float]]]()
    for knob, values in ABLATED.items():
        own = getattr(Settings.preset("paper").paper, knob)
        every = sorted((own, *values), key=lambda value: (isinstance(value, str), value))
        for value in every:
            name = "drbo paper 20k" if value == own else f"drbo paper 20k, {knob} {value}"
            found = tables.numbers((row for row in rows if row["method"] == name), "shd")
            if found:
                groups.setdefault(knob, {})[str(value)] = found
    return figures.panels(groups, "SHD") if groups else None
