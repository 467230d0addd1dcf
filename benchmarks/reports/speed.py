"""Tables of times: of an iteration, of searches with workers, and of reports in a browser."""

import numpy as np

from benchmarks.reports.tables import header
from benchmarks.rows import Row, grouped
from benchmarks.studies.core_speed import JOBS
from benchmarks.studies.estimates import FIRST_JUDGED, SIZES, errors
from benchmarks.studies.startup import STARTS
from benchmarks.studies.workers import PLACES

#: The authors' program: milliseconds an iteration at C = 100,000 (its own setting), on a 2-core machine and an H200.
AUTHORS = {("cpu", 10): 6_500, ("cpu", 30): 14_000, ("cuda", 30): 3_300, ("cuda", 100): 11_500}


def markdown(header: list[str], lines: list[list[object]]) -> str:
    rule = ["---"] * len(header)
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [header, rule, *lines]) + "\n"


def call(rows: list[Row]) -> str:
    """Return the seconds of whole calls, one line per preset, table and commit, over all seeds."""
    keys = ("device", "machine", "threads", "preset", "score_name", "graph", "n", "candidates", "drbo", "commit")
    lines = []
    for key, some in sorted(grouped(rows, *keys).items(), key=lambda one: (*one[0][:5], len(one[0][5]), one[0][5:])):
        own = dict(zip(keys, key, strict=True))
        first = [row["first_seconds"] for row in some if row["first_seconds"]]
        beside = [float(row["score"]) - float(row["true_score"]) for row in some if row.get("true_score")]
        lines.append([
            f"{own['machine']}, {own['threads']} threads" if own["device"] == "cpu" else own["machine"],
            *(own["preset"], own["score_name"], own["graph"], f"{int(own['n']):,}"),
            f"{int(own['candidates']):,}" if own["candidates"] else "",
            f"{np.median([int(row['n_evals']) for row in some]):,.0f}",
            *(len(some), first[0] if first else ""),
            f"**{np.median([float(row['seconds']) for row in some]):.2f}**",
            f"{np.median([float(row['cpu_seconds']) for row in some]):.2f}",
            ", ".join(str(row["shd"]) for row in some),
            f"{np.median(beside):.1f}" if beside else "",
            f"{own['drbo']}, {own['commit']}",
        ])  # fmt: skip
    titles = "machine, preset, score, table, rows, C, evaluations, tables, first call, later calls, CPU, SHD"
    return markdown([*titles.split(", "), "score above the true graph's", "version"], lines)


def iteration(rows: list[Row]) -> str:
    """Return the table of iteration times, one line per case, each beside its yardstick."""
    lines = []
    for row in sorted(rows, key=lambda r: (r["device"], int(r["nodes"]), int(r["candidates"]), r["rules"])):
        authors = AUTHORS.get((row["device"], int(row["nodes"]))) if int(row["candidates"]) == 100_000 else None
        lines.append(
            [
                f"{row['machine']}, {row['threads']} threads" if row["device"] == "cpu" else row["machine"],
                row["nodes"],
                f"{int(row['candidates']):,}",
                row["rules"],
                *(row[f"{part}_ms"] for part in ("propose", "evaluate", "learn")),
                f"**{row['iteration_ms']}**",
                row["bare_product_ms"],
                row["ratio"],
                row["cpu_ms"],
                row["bare_cpu_ms"],
                f"{authors:,}" if authors else "",
            ]
        )
    titles = "machine, d, C, rules, propose, evaluate, learn, iteration, bare product, ratio, CPU"
    return markdown([*titles.split(", "), "CPU, bare product", "authors"], lines)


def core(rows: list[Row]) -> str:
    """Return the CPU time of searches before and with the compiled core."""
    return _ratios([row for row in rows if not row.get("before")])


def core_since(rows: list[Row]) -> str:
    """Return the CPU time of searches at an earlier commit and now."""
    return _ratios([row for row in rows if row.get("before")])


def _ratios(rows: list[Row]) -> str:
    """Return the CPU time of searches of two versions, and the geometric mean of the ratios."""
    order = {job: place for place, job in enumerate(JOBS)}
    rows = sorted(rows, key=lambda r: (order.get(r["job"], len(order)), int(r["threads"])))
    lines: list[list[object]] = [
        [row["job"], row["threads"], row["old_cpu_seconds"], row["new_cpu_seconds"], f"**{row['cpu_ratio']}**"]
        for row in rows
    ]
    if rows:
        mean = geometric_mean([float(row["cpu_ratio"]) for row in rows])
        lines.append(["geometric mean", "", "", "", f"**{mean:.2f}**"])
    return markdown(["search", "threads", "before", "now", "times less"], lines)


#: Rows of a table that is worth a line: below it, starting takes most of the time.
LONG_TABLE = 500_000


def passes(rows: list[Row]) -> str:
    """Return what a pass over a file takes, by program."""
    lines: list[list[object]] = []
    rows = [row for row in rows if row["method"] != "drbo fit" and int(row["rows"]) >= LONG_TABLE]
    for row in sorted(rows, key=lambda r: (int(r["rows"]), float(r["cpu_seconds"]))):
        rate = float(row["megabytes"]) / float(row["cpu_seconds"])
        size = f"{int(row['rows']):,} x {row['columns']}"
        spent = row["cpu_seconds"], row["seconds"]
        lines.append([size, row["megabytes"], row["method"], *spent, f"{rate:.0f}", row["gib"]])
    return markdown(["rows x columns", "MB", "program", "CPU s", "seconds", "MB per CPU s", "GiB, at most"], lines)


def strength(rows: list[Row]) -> str:
    """Return the mean number of edges as rows are added, with and without a least strength."""
    lines: list[list[object]] = []
    for count in sorted({int(row["rows"]) for row in rows}):
        some = [row for row in rows if int(row["rows"]) == count]
        means = [np.mean([float(row[name]) for row in some]) for name in ("edges", "edges_without", "true_edges")]
        lines.append([f"{count:,}", len(some), *(f"{mean:.1f}" for mean in means)])
    return markdown(["rows", "tables", "edges, by default", "edges without a least strength", "true edges"], lines)


def answers(rows: list[Row]) -> str:
    """Return how far answers of tables that are read piece by piece are from those in memory, by the kind of table."""
    lines: list[list[object]] = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        some = [row for row in rows if row["kind"] == kind]
        furthest = max(float(row["difference"]) for row in some)
        same = sum(str(row["same_class"]) == "True" for row in some)
        spent = [np.mean([float(row[name]) for row in some]) for name in ("cpu_memory", "cpu_stream")]
        lines.append([kind, f"{int(some[0]['rows']):,}", len(some), f"{furthest:.0e}", f"{same} of {len(some)}",
                      *(f"{seconds:.1f}" for seconds in spent)])  # fmt: skip
    titles = ["kind", "rows", "tables", "difference of scores, at most", "same class", "CPU s in memory"]
    return markdown([*titles, "CPU s piece by piece"], lines)


def nodes(rows: list[Row]) -> str:
    """Return how an iteration grows with the nodes."""
    return growth(rows, "nodes")


def evaluations(rows: list[Row]) -> str:
    """Return how an iteration grows with past evaluations."""
    return growth(rows, "evaluations")


def growth(rows: list[Row], over: str) -> str:
    """Return the table of growth over nodes or over evaluations."""
    lines = []
    for row in sorted(rows, key=lambda r: (int(r["nodes"]), int(r["past"]))):
        if row["over"] != over:
            continue
        size = [row["nodes"], row["candidate_parents"]] if over == "nodes" else [f"{int(row['past']):,}"]
        parts = [row[f"{part}_cpu_ms"] for part in ("propose", "evaluate", "learn")]
        extra = [row["recombine_cpu_ms"], f"{int(row['n_local']):,}"] if over == "evaluations" else []
        lines.append([*size, *parts, f"**{row['cpu_ms']}**", *extra, row["peak_gib"]])
    size = ["d", "candidate parents"] if over == "nodes" else ["past evaluations"]
    extra = ["recombine", "local scores known"] if over == "evaluations" else []
    return markdown([*size, "propose", "evaluate", "learn", "iteration", *extra, "peak memory, GiB"], lines)


def curves(rows: list[Row]) -> str:
    """Return the areas of the learning curves, graph by graph."""
    lines = []
    for graph in sorted({row["graph"] for row in rows}):
        part = [row for row in rows if row["graph"] == graph]
        last = max(int(row["n_evals"]) for row in part)
        ratios = area_ratios(part)
        final = [row for row in part if int(row["n_evals"]) == last]
        gap = {
            rules: np.mean([float(row["true_score"]) - float(row["score"]) for row in final if row["rules"] == rules])
            for rules in ("fast", "paper")
        }
        better = sum(ratio <= 1 for ratio in ratios)
        lines.append(
            [
                graph,
                f"{int(part[0]['candidates']):,}",
                f"{last:,}",
                len(ratios),
                f"{geometric_mean(ratios):.3f}",
                f"{better} of {len(ratios)}",
                f"{gap['fast']:.4f}",
                f"{gap['paper']:.4f}",
            ]
        )
    titles = "data, C, evaluations, seeds"
    ends = ["area, fast / paper", "fast no worse", "gap at the end, fast", "paper"]
    return markdown([*titles.split(", "), *ends], lines)


def area(curve: list[Row]) -> float:
    """Return the mean gap between the true graph's score and the best found, from the steps of one curve."""
    points = sorted((int(row["n_evals"]), float(row["true_score"]) - float(row["score"])) for row in curve)
    evals, gaps = np.array(points).T
    return float(np.trapezoid(gaps, evals) / (evals[-1] - evals[0]))


def area_ratios(rows: list[Row]) -> list[float]:
    """Return, seed by seed, the area of the fast rules divided by that of the paper's."""
    curves: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        curves.setdefault((int(row["seed"]), row["rules"]), []).append(row)
    seeds = sorted({seed for seed, _ in curves})
    return [area(curves[seed, "fast"]) / area(curves[seed, "paper"]) for seed in seeds]


def geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def workers(rows: list[Row]) -> str:
    """Return the seconds at every place, and what an executor costs."""
    words = {"home": "in the process", "pool": "`WorkerPool({})`", "dask": "Dask, {} worker(s)"}
    timed_rows = {row["where"]: row for row in rows if row["where"] != "seam"}
    lines = header("where | seconds | times as quick")
    for name in PLACES:
        if row := timed_rows.get(name):
            kind, _, count = name.partition(" ")
            lines += f"| {words[kind].format(count)} | {row['seconds']} | {row['speedup']} |\n"
    if not timed_rows:
        return ""
    first = next(iter(timed_rows.values()))
    head = f"A search with `gp` on {first['n']} rows of {first['graph']}, {first['n_local']} local scores, "
    head += f"{first['machine']}, `batch_size={first['batch']}`:"
    counted = next((row for row in rows if row["where"] == "seam"), None)
    tail = ""
    if counted is not None:
        share, what = 100 * float(counted["overhead"]), f"{counted['batches']} batches of {counted['dags']} DAGs"
        tail = (
            f"\nWhere scores are cheap, an executor costs {share:.2f}% more instructions, counted by callgrind over "
            f"the evaluation of {what} with {counted['nodes']} nodes (`bic-nv`), the search around it left out.\n"
        )
    waited = [row for row in rows if row.get("idle")]
    if waited:
        tail += "\nWith a score that waits, workers are compared with one that is never idle:\n\n"
        tail += header("table | seconds of a family | proposals | workers | families | seconds | times as quick | idle")
    for row in sorted(waited, key=_waited):
        kind, *turn, count = row["where"].split()
        each = f"{float(row['wait']):g}" if kind == "waiting" else f"{float(row['wait']):g}, uneven"
        tail += f"| {row['graph']} | {each} | {'in turn' if turn else 'ahead'} | {count} | {row['n_local']} "
        tail += f"| {row['seconds']} | {row['speedup']} | {float(row['idle']):.0%} |\n"
    return f"{head}\n\n{lines}{tail}"


def _waited(row: Row) -> tuple[object, ...]:
    """Small tables first, families of equal cost first, and few workers."""
    kind, *turn, count = row["where"].split()
    return int(row["graph"].split("ER")[0]), kind != "waiting", turn, int(count)


def startup(rows: list[Row]) -> str:
    """Return the CPU seconds of starts, warm and cold, beside the yardstick."""
    found = {row["start"]: row for row in rows}
    lines: list[list[object]] = [
        [start]
        + [found[start].get(f"{word}_{figure}", "") for word in ("warm", "cold") for figure in ("seconds", "ratio")]
        for start in STARTS
        if start in found
    ]
    return markdown(["start", "warm", "of the yardstick", "cold", "of the yardstick"], lines)


def estimates(rows: list[Row]) -> str:
    """Return how often the seconds of a fit could be told within a factor of 2, before it and after its first round."""
    lines: list[list[object]] = []
    missed: dict[bool, list[float]] = {False: [], True: []}
    for route in SIZES:
        own = [row for row in rows if row["route"] == route]
        if len({int(row["seed"]) < FIRST_JUDGED for row in own}) < 2:  # none to fit the formula to, or to judge it on
            continue
        line: list[object] = [route, f"{min(map(_cpu, own)):.2f} to {max(map(_cpu, own)):.2f} s"]
        for after in (False, True):
            found = errors(own, after=after)
            missed[after] += found
            line += [_within(found), f"{np.quantile(found, 0.9):.1f}"]
        lines.append(line)
    if lines:
        every = [(_within(found), f"{np.quantile(found, 0.9):.1f}") for found in missed.values()]
        lines.append(["all", "", *every[0], *every[1]])
    titles = ["route or score", "fits take", "before: within 2", "nine of ten within"]
    return markdown([*titles, "after the first round: within 2", "nine of ten within"], lines)


def _cpu(row: Row) -> float:
    return float(row["cpu_seconds"])


def _within(factors: list[float]) -> str:
    return f"{sum(factor <= 2 for factor in factors)} of {len(factors)}"


def pages(rows: list[Row]) -> str:
    """Return how large reports are and how long they take to open."""
    text = header("report of | variables | edges | size | opens in | longest of five | labels at 1400 px | on a phone")
    for row in rows:
        size, opens, longest = (
            int(row["bytes"]) / 1e6,
            float(row["median_cpu_seconds"]),
            float(row["longest_cpu_seconds"]),
        )
        text += f"| {row['data']} | {row['nodes']} | {row['edges']} | {size:.2f} MB | {opens:.2f} s | {longest:.2f} s "
        text += "".join(f"| {_labels(row, device)} " for device in ("desktop", "phone")) + "|\n"
    return text


def axe(rows: list[Row]) -> str:
    """Return on how many pages axe-core finds nothing to complain about, and the others."""
    bad = [f"{row['page']}: {row['rules']}" for row in rows if row["violations"] != "0"]
    others = "".join(f"; {one}" for one in bad)
    return f"axe-core finds no violation on {len(rows) - len(bad)} of {len(rows)} pages{others}.\n"


def _labels(row: Row, device: str) -> str:
    """Return the height of labels when a report opens, and how much of the graph is seen then."""
    return f"{row[f'{device}_label_pixels']} px, {'all' if row[f'{device}_whole'] == 'True' else 'a part'}"
