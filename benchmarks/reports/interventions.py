"""Tables of graphs learned from experiments."""

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped

#: What a method is called in a table.
WORDS = {"unknown": "targets unknown", "known": "targets known", "context": "one 0/1 column per experiment"}


def tunnel(rows: list[Row]) -> str:
    """Return F1 and targets on the light tunnel, for all rows and for halves."""
    text = header(
        "rows | method | F1 of arrows | targets claimed | true ones among them | among the first 30 | CPU seconds"
    )
    for row in rows:
        text += f"| {int(row['n']):,} ({row['table']}) | {WORDS[row['method']]} | {float(row['f1']):.3f} "
        text += f"| {row['targets']} | {row['targets_right']} of {row['targets_true']} | {row['right_of_first_30']} "
        text += f"| {row['seconds']} |\n"
    return text


def simulated(rows: list[Row]) -> str:
    """Return errors and targets on simulated tables, by kind of experiment and method."""
    text = header("experiments | method | tables | SHD | class right | targets right, claimed, true | CPU seconds")
    for (kind, method), part in sorted(grouped(rows, "kind", "method").items()):
        mean = {name: sum(float(row[name]) for row in part) / len(part) for name in ("shd", "seconds")}
        sums = [sum(int(row[name]) for row in part) for name in ("targets_right", "targets", "targets_true")]
        right = sum(int(row["class_right"]) for row in part)
        text += f"| {kind} | {WORDS.get(method, method)} | {len(part)} | {mean['shd']:.1f} | {right} of {len(part)} "
        text += f"| {', '.join(map(str, sums))} | {mean['seconds']:.1f} |\n"
    return text
