"""The page on how far edge probabilities can be believed, from the committed rows."""

from benchmarks.reports import figures
from benchmarks.rows import read

#: What is drawn: file of rows, columns that name a line, the probability given, the share found, edges in it.
POSTERIORS = "reliability"
RESAMPLES = "bootstrap_reliability"


def lines() -> dict[str, list[tuple[float, float, int]]]:
    """Return what each method gave, what it found and on how many edges, bin by bin."""
    found: dict[str, list[tuple[float, float, int]]] = {}
    for row in read(f"{POSTERIORS}"):
        point = (float(row["given"]), float(row["found"]), int(row["count"]))
        found.setdefault(f"posterior, {row['score']}", []).append(point)
    for row in read(f"{RESAMPLES}"):
        point = (float(row["mean_frequency"]), float(row["share_true"]), int(row["count"]))
        found.setdefault(f"{row['kind']}, {row['edge']}s", []).append(point)
    return {name: sorted(points) for name, points in found.items()}


def error(points: list[tuple[float, float, int]]) -> float:
    """Return the expected calibration error: the mean distance of given and found, weighted by edges."""
    total = sum(count for _, _, count in points)
    return sum(abs(given - share) * count for given, share, count in points) / total


def page() -> str:
    """Return the page."""
    text = (
        "# Calibration of edge probabilities\n\nMade by `python -m benchmarks report` from the rows in "
        "`benchmarks/rows`. *Posterior*: exact probabilities of edges over all DAGs of small simulated tables (`python "
        "-m benchmarks reliability`). *Bootstrap* and *subsample*: how often an arrow or a link is found in resamples "
        "of 200 simulated tables (`bootstrap`), which is no probability by itself; what they mean is said under "
        "[confidence](../confidence.md). The error is the mean distance between what is given and the share that is in "
        "the true graph, weighted by edges.\n\n![Share of true edges by the probability given](calibration.svg)\n\n"
        "| kind | edges | expected calibration error | largest of a bin |\n|---|---|---|---|\n"
    )
    every = lines()
    for name, points in every.items():
        worst = max(points, key=lambda point: abs(point[0] - point[1]))
        text += f"| {name} | {sum(point[2] for point in points):,} | {error(points):.3f} "
        text += f"| {worst[1] - worst[0]:+.3f} at {worst[0]:.2f} ({worst[2]:,} edges) |\n"
    for name, points in every.items():
        text += f"\n**{name}**\n\n| given | {' | '.join(f'{given:.2f}' for given, _, _ in points)} |\n"
        text += "|---" * (len(points) + 1) + "|\n"
        text += f"| found | {' | '.join(f'{share:.2f}' for _, share, _ in points)} |\n"
    return text


def picture() -> bytes:
    """Draw what was found over what was given."""
    return figures.reliability(lines())
