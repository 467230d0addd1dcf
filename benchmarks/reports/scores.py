"""Tables of the scores: the null test, and the sections of the page of presets."""

from collections.abc import Callable
from operator import itemgetter

import numpy as np
import numpy.typing as npt

from benchmarks.experiments import EXPERIMENTS
from benchmarks.reports import earlier, published, versions
from benchmarks.reports.tables import header, numbers
from benchmarks.rows import Row, grouped, read, spread
from benchmarks.studies import nongaussian as shapes
from benchmarks.studies.false_edges import KINDS
from benchmarks.studies.solution import LEVELS

#: False edges per table that are allowed on average.
ALLOWED = 0.5
#: Ours on small and on discrete data, and the others on the latter.
OURS, RIVALS = "drbo", EXPERIMENTS["discrete"].methods[1:]
#: Scores closer than this share of themselves are equal.
ROUNDING = 1e-9


def null_test(rows: list[Row]) -> str:
    """Return the table of the null test."""
    places = {score: place for place, score in enumerate(KINDS)}
    order = sorted(rows, key=lambda row: (places[row["score"]], row["kind"], int(row["d"]), int(row["n"])))
    text = header(
        "score | penalty, pruner | data | columns | rows | tables | false edges, mean | most | same in other units "
        "| passes"
    )
    for part in grouped(order, "score", "kind", "d", "n").values():
        first, edges = part[0], [int(row["edges"]) for row in part]
        same = [row["same_in_other_units"] == "True" for row in part if row["same_in_other_units"] != ""]
        chosen = f" ({', '.join(sorted({row['chosen'] for row in part}))})" if first["score"] == "auto" else ""
        text += (
            f"| {first['score']}{chosen} | {_span(part)}, {first['pruner']} | {first['kind']} | {first['d']} "
            f"| {int(first['n']):,} | {len(part)} | {np.mean(edges):.2f} | {max(edges)} | {sum(same)} of {len(same)} "
            f"| {'yes' if np.mean(edges) <= ALLOWED else 'NO'} |\n"
        )
    return text


def _span(rows: list[Row]) -> str:
    """Return the penalty of some rows: a word, a number, or the smallest and the largest of several."""
    found = sorted({row["penalty"] for row in rows}, key=lambda word: (word.startswith("ebic"), word))
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def nongaussian(rows: list[Row]) -> str:
    """Return errors, and directions beyond the class, by the shape of the noise."""
    order = sorted(rows, key=lambda row: (shapes.KINDS.index(row["kind"]), int(row["n"])))
    methods = (*shapes.OURS, *shapes.RIVALS)
    text = header(
        " | ".join(["noise", "rows", "tables", *(f"SHD {name}" for name in methods), "`bic-ng` beyond the class"])
        + " | `bic-ng` supported by the noise check | by the class"
    )
    for (kind, n), part in grouped(order, "kind", "n").items():
        found = grouped(part, "method")
        distances = " | ".join(
            spread(row["shd"] for row in found[name,]) if (name,) in found else "" for name in methods
        )
        ours = found["bic-ng",]
        claims = " | ".join(
            f"{sum(numbers(ours, f'{ground} right')):.0f} right, {sum(numbers(ours, f'{ground} wrong')):.0f} wrong"
            for ground in ("beyond", "noise-check", "class")
        )
        text += f"| {kind} | {int(n):,} | {len(ours)} | {distances} | {claims} |\n"
    return text


def choice(rows: list[Row]) -> str:
    """Return mean errors by penalty and pruner, a table per score."""
    text = ""
    for scored in grouped(rows, "score").values():
        columns = list(grouped(scored, "penalty", "pruner"))
        text += header(" | ".join(["graph, model", "score", "rows", "sets", *(" / ".join(one) for one in columns)]))
        for (graph, model, score, n), part in grouped(scored, "graph", "model", "score", "n").items():
            found = grouped(part, "penalty", "pruner")
            means = " | ".join(f"{np.mean([float(row['errors']) for row in found[one]]):.2f}" for one in columns)
            text += f"| {graph}, {model} | {score} | {int(n):,} | {len(found[columns[0]])} | {means} |\n"
    return text


def gp_check(rows: list[Row]) -> str:
    """Return the fingerprints, and the agreement with scikit-learn."""
    text = header("data | score / (n d) of the true graph | by the authors' rules")
    text += "".join(f"| {row['data']} | {row['value']} | {row['expected']} |\n" for row in rows if row["value"])
    part = [row for row in rows if row["families"]]
    count, same = (sum(int(row[name]) for row in part) for name in ("families", "same_length_scale"))
    difference, shortfall = (
        max(float(row[name]) for row in part) for name in ("largest_difference", "likelihood_shortfall")
    )
    return text + (
        f"\n{count} random families: both optimisers end at the same scale in {same}, where ln MSE differs by at "
        f"most {difference:.1e}; the log marginal likelihood is never worse than scikit-learn's by more than "
        f"{shortfall:.1e}.\n"
    )


def gp_speed(rows: list[Row]) -> str:
    """Return seconds by machine."""
    text = header("families | seconds (CPU) | scikit-learn, seconds (CPU) | times as quick (CPU) | machine")
    for row in rows:
        cpu = f" ({row['cpu_seconds']})" if row.get("cpu_seconds") else ""
        other = ratio = ""
        if row.get("sklearn_seconds"):
            other = f"{row['sklearn_seconds']} ({row['sklearn_cpu_seconds']})"
            other += (
                f", timed on {row['sklearn_timed_on']} and scaled" if row["sklearn_timed_on"] != row["families"] else ""
            )
            ratio = f"{row['ratio']} ({row['cpu_ratio']})"
        text += f"| {row['families']} | {row['seconds']}{cpu} | {other} | {ratio} "
        text += f"| {row['machine']}, {row['threads']} threads |\n"
    return text


def gp_fits(rows: list[Row]) -> str:
    """Return what whole fits with the score gp take."""
    text = header("columns | rows | local scores | seconds (CPU) | machine")
    for row in rows:
        text += f"| {row['nodes']} | {row['n']} | {row['n_local']} | {row['seconds']} ({row['cpu_seconds']}) "
        text += f"| {row['machine']}, {row['threads']} threads, load {float(row['load']):.1f} |\n"
    return text


def gp_evidence(rows: list[Row]) -> str:
    """Return the error of the log evidence, and what relatives cost and are worth."""
    text = header(
        "rows | families | log evidence - that of a slow search | CPU ms | random features: share of that, declared "
        "| correlation, typical error | splines: CPU ms | correlation, typical error"
    )
    for row in sorted(rows, key=lambda row: int(row["n"])):
        seconds, share = float(row["milliseconds"]), float(row["random-features milliseconds"])
        text += f"| {int(row['n']):,} | {row['families']}, {row['checked']} of them compared "
        text += f"| {float(row['lowest']):.3f} to {float(row['highest']):.3f} | {seconds:.1f} "
        text += f"| {share / seconds:.3f}, {row['random-features cost']} "
        text += f"| {row['random-features correlation']}, {row['random-features error']} "
        text += f"| {row['splines milliseconds']} | {row['splines correlation']}, {row['splines error']} |\n"
    return text


def gp(rows: list[Row]) -> str:
    """Return how often the optimum is reached, with the errors and the time."""
    text = header(
        "preset | evaluations | optimum reached | SHD (paper 0.4; the optimum's own: 0.4) "
        "| SHD after CAM pruning (paper 4.2) | local scores | seconds | CPU seconds | machine"
    )
    for (preset, evals, machine), part in sorted(grouped(rows, "preset", "evals", "machine").items()):
        reached = sum(row["optimum_reached"] == "True" for row in part)
        figures = " | ".join(spread(row[name] for row in part) for name in ("shd", "shd_cam"))
        text += f"| {preset} | {evals} | {reached} of {len(part)} | {figures} "
        text += f"| {spread((row['n_local'] for row in part), 0)} "
        cpu = spread(row["cpu_seconds"] for row in part) if all(row.get("cpu_seconds") for row in part) else ""
        text += f"| {spread(row['seconds'] for row in part)} | {cpu} | {machine} |\n"
    return text


def sachs(rows: list[Row]) -> str:
    """Return what is left after pruning, beside random complete graphs."""
    text = header("method | runs | edges before | after pruning | SHD (paper 9) | FDR (0.11) | TPR (0.47) | F1 (0.62)")
    for (method,), part in grouped(rows, "method").items():
        names = (("edges_before", 1), ("edges_after", 1), ("shd", 1), ("fdr", 2), ("tpr", 2), ("f1", 2))
        figures = " | ".join(spread((row[name] for row in part), digits) for name, digits in names)
        text += f"| {method} | {len(part)} | {figures} |\n"
    return (
        text
        + "\nFor what these figures mean, see [the paper's GP scores](../reference/scores.md#the-papers-gp-scores).\n"
    )


def small(rows: list[Row]) -> str:
    """Return how found scores relate to the true graph's and to the best of all DAGs."""
    text = header(
        "score | method | data sets | correlation of found and true score | at least the true graph's "
        "| the best of all | SHD-C | seconds"
    )
    order = sorted(rows, key=lambda row: (row["score"], row["method"] != "drbo"))
    for (score, method), part in grouped(order, "score", "method").items():
        scored = [row for row in part if row["found_score"] != ""]
        found, true = (numbers(scored, name) for name in ("found_score", "true_score"))
        alike = f"{np.corrcoef(found, true)[0, 1]:.4f}" if len(scored) > 1 else ""
        at_least, best = (gaps(scored, name) for name in ("true_score", "best_score"))
        distance = spread(numbers(part, "shd_c")) if numbers(part, "shd_c") else ""
        text += f"| {score} | {method} | {len(part)} | {alike} | {(at_least >= 0).sum()} | {(best == 0).sum()} "
        text += f"| {distance} | {spread((row['seconds'] for row in part), 2)} |\n"
    return text


def mixed(rows: list[Row]) -> str:
    """Return one line per table."""
    text = header(
        "table | rows | score, penalty | true edges | found | SHD-C | precision, recall of adjacencies | seconds"
    )
    for row in rows:
        quality = f"{row['adjacency_precision']}, {row['adjacency_recall']}" if row["shd_c"] else ""
        text += f"| {row['table']} {row['seed']} | {row['n']} | {row['score']}, {row['penalty']} | {row['n_edges']} "
        text += f"| {row['n_found']} | {row['shd_c']} | {quality} | {row['seconds']} |\n"
    return text


def gaps(part: list[Row], against: str) -> npt.NDArray[np.float64]:
    """Return found minus true or best score of the rows that have one; differences that are rounding are 0."""
    pairs = [(float(row["found_score"]), float(row[against])) for row in part if row["found_score"] != ""]
    found, other = np.array(pairs).reshape(-1, 2).T
    gap: npt.NDArray[np.float64] = np.where(np.abs(found - other) <= ROUNDING * np.abs(other), 0.0, found - other)
    return gap


def lead(part: list[Row]) -> tuple[float, str] | None:
    """Return by how much our score exceeds the best rival's, and that rival; rounding counts as 0."""
    scores = {row["method"]: float(row["found_score"]) for row in part if row["found_score"] != ""}
    ours = scores.pop(OURS, None)
    if ours is None or not scores:
        return None
    method = max(scores, key=lambda name: scores[name])
    gap = ours - scores[method]
    return (0.0 if abs(gap) <= ROUNDING * abs(ours) else gap), method


def discrete(rows: list[Row]) -> str:
    """Return a table of means per network, size and score, and where our score is lower than a rival's."""
    text = header("network | rows | score | method | score minus the true graph's | SHD-C | CPU seconds | data sets")
    groups = grouped(rows, "network", "n", "score")
    for network, n, score in sorted(groups, key=lambda key: (key[0], int(key[1]), key[2])):
        parts = grouped(groups[network, n, score], "method")
        for method in (OURS, *RIVALS):
            if part := parts.get((method,)):
                text += f"| {network} | {int(n):,} | {score} | {method} | {means(part)} |\n"
    cells = sorted(grouped(rows, "network", "n", "seed", "score").items())
    leads = [(found, cell) for cell, part in cells if (found := lead(part))]
    lower = [(found, cell) for found, cell in leads if found[0] < 0]
    higher, equal = sum(found[0] > 0 for found, _ in leads), sum(found[0] == 0 for found, _ in leads)
    text += f"\nAgainst the best rival of each of {len(leads)} cells: higher {higher}, equal {equal}, "
    text += f"lower {len(lower)}.\n"
    for (gap, method), (network, n, seed, score) in lower:
        text += f"- lower by {-gap:.3f}: {network}, n = {int(n):,}, seed {seed}, {score}; best is {method}\n"
    return text


def means(part: list[Row]) -> str:
    """Return the means of one method over the data sets of one network, size and score."""
    scored = [row for row in part if row["found_score"] != ""]
    if not scored:
        return f"{part[0]['note']} | | | 0 of {len(part)}"
    gain = spread((float(row["found_score"]) - float(row["true_score"]) for row in scored), 2)
    distance = spread((row["shd_c"] for row in scored), 1)
    return f"{gain} | {distance} | {spread(row['cpu_seconds'] for row in scored)} | {len(scored)} of {len(part)}"


def solution(rows: list[Row]) -> str:
    """Return the longest seconds (CPU) to each SHD beside the paper's."""
    text = "The longest of all data sets, in seconds (CPU); the machine was shared with other work.\n\n"
    distances = " | ".join(f"SHD {level}" for level in LEVELS)
    text += header(f"graph | data sets | score, pruner | {distances} | SHD at the end | seconds in all (CPU) | machine")
    for (graph, machine), part in grouped(rows, "graph", "machine").items():
        paper = [60 * minutes for minutes, _ in published.MINUTES_TO.get(graph, {}).get(published.OURS, ())]
        cells = []
        for place, level in enumerate(LEVELS):
            seconds, cpu = (
                [float(row[f"{name}_to_{level}"]) for row in part if row.get(f"{name}_to_{level}")]
                for name in ("seconds", "cpu")
            )
            words = f"{max(seconds):.2f} s ({max(cpu):.2f})" if seconds else "never"
            few = f" in {len(seconds)} of {len(part)}" if len(seconds) < len(part) else ""
            cells.append(words + few + (f"; paper {paper[place]:.0f} s" if paper else ""))
        text += f"| {graph} | {len(part)} | {part[0]['score']}, {part[0]['pruner']} | {' | '.join(cells)} "
        text += f"| {spread(row['shd'] for row in part)} | {spread((row['seconds'] for row in part), 2)} "
        text += f"({spread((row['cpu_seconds'] for row in part), 2)}) | {machine} |\n"
    return text


#: Sections of the page of presets: title, name of the rows, where they come from if not from their file, and the table.
SECTIONS: tuple[tuple[str, str, Callable[[], list[Row]] | None, Callable[[list[Row]], str]], ...] = (
    ("The paper's GP score against its fingerprints and scikit-learn (`gp_check`)", "gp_check", None, gp_check),
    ("Seconds for a batch of GP families, n = 1,000 (`gp_speed`)", "gp_speed", None, gp_speed),
    ("Whole fits with the score `gp` (`gp_speed --part fits`)", "gp_fits", None, gp_fits),
    ("Gaussian-process data, 10 nodes, 40 edges, score gp-nv (`gp`)", "gp", earlier.gp_rows, gp),
    ("Seconds to a given SHD (`solution`)", "solution", None, solution),
    ("Sachs (`sachs_paper`)", "sachs", earlier.sachs_rows, sachs),
    ("Small data sets, where the best of all DAGs is known (`equivalence`)", "equivalence", earlier.small_rows, small),
    ("Discrete data from real networks (`discrete`)", "discrete", earlier.discrete_rows, discrete),
    ("Numbers and categories, from the command line (`mixed`)", "mixed", None, mixed),
)


def sections() -> str:
    """Return the sections of the page of presets."""
    made = ((title, versions.tables(get() if get else read(name), table)) for title, name, get, table in SECTIONS)
    return "".join(f"\n## {title}\n\n{text}" for title, text in made)


def real_tables(rows: list[Row]) -> str:
    """Return what each score finds in real tables with a known graph."""
    text = header(
        "table | rows | tables | score | F1, arrows | F1, open edges count half | F1, links "
        "| supported by the class, right | by the noise check, right"
    )
    order = sorted(rows, key=lambda row: (row["table"], -int(row["n"]), row["score"] != "auto", row["score"]))
    for (table, n, score), part in grouped(order, "table", "n", "score").items():
        taken = f" ({', '.join(sorted({row['taken'] for row in part}))})" if score == "auto" else ""
        claims = " | ".join(
            f"{sum(int(row[f'{ground} right']) for row in part)} of {sum(int(row[ground]) for row in part)}"
            for ground in ("class", "noise-check")
        )
        distances = " | ".join(
            spread([float(row[name]) for row in part], 2) for name in ("f1", "f1_half", "f1_skeleton")
        )
        text += f"| {table} | {int(n):,} | {len(part)} | `{score}`{taken} | {distances} | {claims} |\n"
    return text


#: Edges of the known network of Sachs et al.
SACHS_EDGES = 17


def halves(rows: list[Row]) -> str:
    """Return F1 on random halves of one table by score, the links that are known, and how many are directed right."""
    text = header(
        "score | halves | F1, open edges count half | edges | of these known links "
        "| of these directed right, open edges count half"
    )
    order = sorted(rows, key=lambda row: (row["score"] != "auto", row["score"]))
    for (score,), part in grouped(order, "score").items():
        edges = np.array([float(row["edges"]) for row in part])
        both = edges + SACHS_EDGES
        links = [
            np.mean(np.array([float(row[name]) for row in part]) * both / 2) for name in ("f1_skeleton", "f1_half")
        ]
        found = f"{np.mean(edges):.1f} | {links[0]:.1f} | {links[1]:.1f} ({links[1] / links[0]:.0%})"
        text += f"| `{score}` | {len(part)} | {spread([float(row['f1_half']) for row in part], 2)} | {found} |\n"
    return text


def scales(rows: list[Row]) -> str:
    """Return F1 by score on tables that no noise model fits on the scales of their columns."""
    names = sorted({row["score"] for row in rows})
    text = header(
        f"tables | number | ranks fit | F1, open edges count half: {' | '.join(f'`{name}`' for name in names)}"
    )
    for (kind,), part in grouped(rows, "kind").items():
        by = {name: [row for row in part if row["score"] == name] for name in names}
        fit = sum(str(row["ranks_fit"]) == "True" for row in by[names[0]])
        means = " | ".join(spread([float(row["f1_half"]) for row in by[name]], 2) for name in names)
        text += f"| {kind} | {len(by[names[0]])} | {fit} | {means} |\n"
    return text


def location_scale(rows: list[Row]) -> str:
    """Return SHD by score and kind of table."""
    names = sorted({row["score"] for row in rows})
    text = header(f"tables | number | SHD: {' | '.join(f'`{name}`' for name in names)}")
    for (kind,), part in grouped(rows, "kind").items():
        by = [[float(row["shd"]) for row in part if row["score"] == name] for name in names]
        text += f"| {kind} | {len(by[0])} | {' | '.join(spread(values, 1) for values in by)} |\n"
    return text


def repeats(rows: list[Row]) -> str:
    """Return how many searches of the same tables ended at the best score seen, with their CPU seconds."""
    text = header("network | tables | searches | at the best score seen | same DAG in other units | CPU seconds")
    for (network,), part in grouped(rows, "network").items():
        best = {
            number: max(float(row["score"]) for row in group) for (number,), group in grouped(part, "table").items()
        }
        ended = sum(float(row["score"]) >= best[row["table"]] - 1e-9 * abs(best[row["table"]]) for row in part)
        same = sum(str(row["same_in_other_units"]) == "True" for row in part)
        seconds = np.mean([float(row["cpu_seconds"]) for row in part])
        text += f"| {network} | {len(best)} | {len(part)} | {ended} | {same} of {len(part)} | {seconds:.2f} |\n"
    return text


def gaussian_networks(rows: list[Row]) -> str:
    """Return the errors of each method by penalty, and its scores less those of FLOP at the same penalty."""
    text = header("network | rows | method | penalty | tables | SHD-C | score above FLOP's | CPU seconds")
    table = itemgetter("network", "n", "seed", "penalty")
    flop = {table(row): float(row["found_score"]) for row in rows if row["method"] == "FLOP"}
    order = sorted(rows, key=lambda row: (row["network"], int(row["n"]), row["method"] != "drbo", row["penalty"]))
    for (network, n, method, penalty), part in grouped(order, "network", "n", "method", "penalty").items():
        errors = spread([float(row["shd_c"]) for row in part], 1)
        seconds = np.mean([float(row["cpu_seconds"]) for row in part])
        above = [float(row["found_score"]) - flop[table(row)] for row in part if table(row) in flop]
        beside = f"{np.mean(above):.1f}" if above and method != "FLOP" else "-"
        cells = f"{network} | {int(n):,} | {method} | {penalty} | {len(part)} | {errors} | {beside} | {seconds:.2f}"
        text += f"| {cells} |\n"
    return text
