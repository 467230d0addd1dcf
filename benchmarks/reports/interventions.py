"""Tables of graphs learned from experiments."""

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped

#: What a method is called in a table.
WORDS = {
    "unknown": "targets unknown",
    "linear": "targets unknown, `bic-experiments`",
    "drift": "targets unknown, `drift`",
    "known": "targets known",
    "context": "one 0/1 column per experiment",
    "gies": "GIES, targets known",
    "gnies": "GnIES",
    "ut-igsp": "UT-IGSP",
    "control": "the control alone (`bic-nv`)",
    "pooled": "all rows as one table (`bic-nv`)",
}
#: Kinds of classes in words.
CLASSES = {"tree": "trees", "chordal": "chordal graphs", "ER1": "ER1", "ER2": "ER2"}


def shown(row: Row) -> str:
    """Return how many arrows a result says that experiments show, and how many of them are right."""
    return f"{row['shown_right']} of {row['shown']}" if row["shown"] not in ("", "0") else "-"


def tunnel(rows: list[Row]) -> str:
    """Return F1 and targets on the light tunnel, for all rows and for halves."""
    text = header(
        "rows | method | F1 of arrows | arrows that experiments show, right | targets claimed | true ones among them "
        "| among the first 30 | CPU seconds"
    )
    for row in rows:
        text += f"| {int(row['n']):,} ({row['table']}) | {WORDS[row['method']]} | {float(row['f1']):.3f} "
        text += f"| {shown(row)} | {row['targets']} | {row['targets_right']} of {row['targets_true']} "
        text += f"| {row['right_of_first_30']} | {row['seconds']} |\n"
    return text


def grid(rows: list[Row]) -> str:
    """Return F1 of UT-IGSP on the light tunnel, a row for each level of its tests of independence."""
    levels = sorted({float(row["invariance"]) for row in rows})
    text = header(" | ".join(["independence \\ invariance", *(f"{level:g}" for level in levels)]))
    for (level,), part in sorted(grouped(rows, "independence").items(), key=lambda item: float(item[0][0])):
        by = {float(row["invariance"]): float(row["f1"]) for row in part}
        text += " | ".join([f"| {float(level):g}", *(f"{by[one]:.3f}" if one in by else "" for one in levels)]) + " |\n"
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


def sachs(rows: list[Row]) -> str:
    """Return edges and targets on the proteins of Sachs et al., by method."""
    text = header(
        "method | edges | links right | arrows right | F1 of arrows | arrows that experiments show, right "
        "| targets claimed | known ones among them"
    )
    for row in rows:
        text += f"| {WORDS[row['method']]} | {row['edges']} | {row['links_right']} | {row['right']} "
        text += f"| {float(row['f1']):.2f} | {shown(row)} | {row['targets']} "
        text += f"| {row['targets_right']} of {row['targets_true']} |\n"
    return text


def next_classes(rows: list[Row]) -> str:
    """Return the experiments until every edge is settled, by kind of class and choice."""
    text = header(
        "classes | | random | most open edges | edge entropies | information | of random | optimum | information there"
    )
    by_kind = grouped(rows, "kind")
    for kind, part in [*((CLASSES[name], by_kind[name,]) for name in CLASSES if (name,) in by_kind), ("all", rows)]:
        means = {
            name: sum(float(row[name]) for row in part) / len(part)
            for name in ("random", "degree", "edge_entropy", "information")
        }
        small = [row for row in part if row["optimum"] != ""]
        text += f"| {kind} | {len(part)} | {' | '.join(f'{value:.2f}' for value in means.values())} "
        text += f"| {means['information'] / means['random']:.2f} "
        there = [sum(float(row[name]) for row in small) / max(1, len(small)) for name in ("optimum", "information")]
        text += f"| {there[0]:.2f} ({len(small)} classes) | {there[1]:.2f} |\n"
    return text


def next_oracle(rows: list[Row]) -> str:
    """Return the light tunnel with the experiments that the truth would choose."""
    text = header("experiments | the last one | F1 of arrows")
    for row in rows:
        text += f"| {row['experiments']} | {row['experiment']} | {float(row['f1']):.3f} |\n"
    return text


def next_replay(rows: list[Row]) -> str:
    """Return the light tunnel after each experiment, in each order."""
    text = header("order | experiments | the last one | F1 of arrows | with all 20 | edges supported | assumed")
    for row in rows:
        text += f"| {row['order']} | {row['step']} | {row['experiment'] or '-'} | {float(row['f1']):.3f} "
        text += f"| {float(row['f1_all']):.3f} | {row['supported']} of {row['edges']} | {row['assumed']} |\n"
    return text
