"""``python -m benchmarks EXPERIMENT``: run one experiment, or make the tables of the docs from its rows."""

import sys
from importlib import import_module

EXPERIMENTS = {
    "run": "the paper's evaluation and more: every method on the same data, resumable; takes the name of an experiment",
    "linear": "linear-Gaussian data on random graphs, score bic-ev",
    "bnlearn": "linear-Gaussian data on real structures, score bic-ev",
    "bge": "small linear-Gaussian data, score bge: the best of all DAGs, PC and GES",
    "logistic": "small binary data, score logistic: the best of all DAGs, DAGMA",
    "discrete": "data drawn from real discrete networks: hill climbing, GES and BOSS with the same score",
    "gp": "nonlinear data with Gaussian processes, score gp-nv: the known optimum",
    "gp_check": "the paper's GP score against its fingerprints and scikit-learn",
    "gp_speed": "seconds for a batch of GP families against scikit-learn",
    "solution": "linear and nonlinear data: seconds to a given SHD",
    "expensive": "Gaussian-process data with 20 to 50 nodes, score gp: local scores with and without a surrogate",
    "sachs": "the Sachs data with the paper's score and pruning, beside random complete graphs",
    "mixed": "tables with numbers and categories from the command line",
    "null": "independent columns: false edges of every score, and the choice of the penalty",
    "missing": "what each policy for missing values costs in edges",
    "judge": "how often true, learned and wrong graphs pass the tests on held-out rows",
    "bootstrap": "cost of a bootstrap, warm against cold starts, and frequencies against the truth",
    "efficiency": "how few local scores a search needs, and what each of its parts is worth",
    "speed": "iteration times beside the bare matrix product, their growth, and learning curves of the fast rules",
    "exact": "the optimum proved up to 20 columns, and the search against it",
    "knowledge": "every scored graph obeys the knowledge, contradictions come first, tiers save evaluations",
    "reliability": "edge posteriors against the truth, in simulation",
    "orders": "the order search beside FLOP and BOSS (standardised) or DAGMA, GOLEM and EqVar (raw) on the same data",
    "scale": "the same with 1,000 nodes",
    "unique": "different DAGs among random vectors, by the rank of the search space",
    "pages": "size of reports and seconds to open them in Chromium; the pictures of docs/report.md",
    "workers": "what other processes gain for an expensive score, and what the seam costs a cheap one",
    "report": "write docs/results/ and the tables of README and docs/scores.md from the committed rows",
}
#: Experiments that share a module: its name, and the options that make the difference.
SHARED = {
    "report": ("reports.pages", []),
    "null": ("studies.false_edges", []),
    "run": ("experiments.cells", []),
    **{name: (name, []) for name in ("linear", "bnlearn", "gp", "sachs")},
    "bge": ("studies.equivalence", ["--score", "bge"]),
    "logistic": ("studies.equivalence", ["--score", "logistic"]),
    # The penalty is what ebic, the default among so many columns, charges for an edge: 1 + 2 ln(1000) / ln(2000).
    "scale": (
        "studies.orders",
        ["--graphs", "1000ER2", "--rows", "2000", "--seeds", "1", "--seconds", "250", "--penalty", "2.818"],
    ),
}


def main() -> None:
    """Hand over to the experiment named first."""
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in EXPERIMENTS:
        lines = [f"  {key:<10} {text}" for key, text in EXPERIMENTS.items()]
        sys.exit("usage: python -m benchmarks EXPERIMENT [options]; an experiment takes --help\n" + "\n".join(lines))
    module, options = SHARED.get(name, (f"studies.{name}", []))
    import_module(f"benchmarks.{module}").main([*options, *sys.argv[2:]])


if __name__ == "__main__":
    main()
