"""The experiments, declared: data sets, methods, seeds and time limits. The paper's figures are in rows/paper.csv."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from benchmarks.experiments.data import DataSet
from benchmarks.methods.registry import ABLATED
from benchmarks.parameters import names

OURS = names("drbo default, drbo sparing, drbo networks off, drbo paper")
#: The baselines of the paper that go step by step.
SEQUENTIAL = names("dagma linear, NOTEARS+TMPI, COSMO")
#: Methods that find an order first.
ORDERS = names("sortnregress, sortnregress (lasso), R2-sortnregress, SCORE, DiffAN, CAM, EqVar")
CLASSES = names(
    "gcastle PC, gcastle GES, causal-learn GES, causal-learn BOSS, causal-learn BOSS (recommended), "
    "causal-learn GRaSP, causal-learn GRaSP (recommended), xges XGES, xges XGES (recommended), flopsearch FLOP, "
    "flopsearch FLOP (recommended)"
)
CONTROLS = names("causal-learn DirectLiNGAM, tabu, random graph")
ALL = (*OURS, *SEQUENTIAL, *ORDERS, *CLASSES, *CONTROLS)
#: Cheap ones with one per family, for the settings that are about the data.
SOME = names(
    "drbo default, drbo paper, dagma linear, NOTEARS+TMPI, sortnregress, sortnregress (lasso), R2-sortnregress, EqVar, "
    "gcastle PC, causal-learn GES, causal-learn BOSS, causal-learn BOSS (recommended), flopsearch FLOP, "
    "flopsearch FLOP (recommended), causal-learn DirectLiNGAM, tabu, random graph"
)
#: Those that take at most seconds where there are more nodes or rows.
QUICK = names(
    "drbo default, drbo paper, dagma linear, sortnregress, R2-sortnregress, EqVar, causal-learn BOSS, "
    "flopsearch FLOP (recommended), random graph"
)
#: What has an answer on dense graphs with 30 nodes in a minute.
DENSE = (
    *names("drbo default, drbo paper, dagma linear"),
    *ORDERS,
    *names("gcastle PC, flopsearch FLOP, flopsearch FLOP (recommended), tabu, random graph"),
)
#: The paper's additional baselines.
ADDITIONAL = names("gcastle PC, gcastle GES, sortnregress, SCORE, DiffAN")
NONLINEAR = (
    *names("drbo default, drbo paper"),
    *ADDITIONAL,
    *names("CAM, causal-learn kernel GES, causal-learn DirectLiNGAM, random graph"),
)
#: Of Sachs; the paper's preset has its own score there: the experiment sachs_paper.
PROTEINS = (
    *names("drbo default, drbo auto"),
    *ADDITIONAL,
    *names("CAM, R2-sortnregress, causal-learn BOSS, flopsearch FLOP, causal-learn DirectLiNGAM, random graph"),
)
#: Beside the paper's two baselines where it has no more.
COMPARED = names("drbo default, dagma linear, EqVar, sortnregress, random graph")
#: On small data whose optimum is known.
SMALL = {
    "bge": names("drbo same score, gcastle PC, gcastle GES, causal-learn PC, causal-learn GES"),
    "logistic": names("drbo same score, dagma 0.02, dagma 0.03, dagma 0.05"),
}


def without(methods: tuple[str, ...], *left_out: str) -> tuple[str, ...]:
    """Return the methods but for some."""
    return tuple(name for name in methods if name not in left_out)


class Plan(NamedTuple):
    """What is run on a data set: methods, and seeds 0 to ``seeds`` - 1."""

    methods: tuple[str, ...]
    seeds: int


@dataclass(frozen=True)
class Experiment:
    """A group of tables or figures: every method on every data set, for seeds 0 to ``seeds`` - 1.

    ``less`` holds the plans of data sets on which fewer methods or seeds are run.
    """

    title: str
    data: tuple[DataSet, ...]
    methods: tuple[str, ...]
    seeds: int = 10
    limit: float = 60.0
    curves: bool = False
    quick: tuple[str, ...] = ("drbo default", "sortnregress", "dagma linear")
    less: Mapping[str, Plan] = field(default_factory=dict)

    def plan(self, data: str) -> Plan:
        """Return what is run on a data set."""
        return self.less.get(data, Plan(self.methods, self.seeds))


def linear(graph: str, words: str = "raw", **changes: object) -> DataSet:
    """Return linear-Gaussian data with equal variances, as they are drawn."""
    return DataSet(f"{graph} {words}", graph, **changes)  # type: ignore[arg-type]


def classes(graph: str, words: str, **changes: object) -> DataSet:
    """Return data on which the variances are unequal, so that the score has one per node."""
    return DataSet(f"{graph} {words}", graph, score="bic-nv", prune="f-test", **changes)  # type: ignore[arg-type]


ABLATIONS = (
    "drbo paper 20k",
    "drbo paper 20k, variant retrained",
    *(f"drbo paper 20k, variant direct, hidden {hidden}" for hidden in (64, 256, 1_024)),
    "drbo paper 5k, n_candidates 10000",
    "drbo paper 5k, variant exact-gp",
    "drbo paper 5k, variant approximate-gp",
    *(f"drbo paper 20k, {knob} {value}" for knob, values in ABLATED.items() for value in values),
)

EXPERIMENTS: dict[str, Experiment] = {
    "raw": Experiment(
        "Linear-Gaussian data with equal variances, as drawn",
        tuple(linear(graph) for graph in ("10ER2", "20ER4", "30ER8")),
        (*ALL, "ALIAS"),
        quick=(*without(ALL, "drbo paper"), "drbo paper quick", "ALIAS"),
        less={
            "20ER4 raw": Plan(without(ALL, "DiffAN", "gcastle GES", "xges XGES", "flopsearch FLOP"), 5),
            "30ER8 raw": Plan(DENSE, 5),
        },
    ),
    "standardised": Experiment(
        "Linear-Gaussian data, standardised",
        tuple(classes(graph, "standardised", standardised=True) for graph in ("10ER2", "20ER4", "30ER8")),
        without(ALL, "COSMO", "DiffAN", "CAM"),
        less={
            "20ER4 standardised": Plan(QUICK, 5),
            "30ER8 standardised": Plan(without(QUICK, "dagma linear", "causal-learn BOSS"), 5),
        },
    ),
    "standardised_large": Experiment(
        "Standardised linear data with 100,000 rows (Fig. 7a)",
        (classes("10ER2", "standardised, n = 100,000", standardised=True, n=100_000),),
        ("drbo default", "drbo paper 20k", "dagma linear", "NOTEARS+TMPI", "sortnregress"),
        seeds=5,
    ),
    "iscm": Experiment(
        "Internally standardised models: neither variances nor explained shares give the order away",
        (classes("10ER2", "iSCM", model="iscm"),),
        SOME,
        seeds=20,
    ),
    "noises": Experiment(
        "Five noises, 20ER4, n = 10,000 (Table 4)",
        tuple(
            linear("20ER4", noise, n=10_000, options={"noise": noise})
            for noise in ("exponential", "gaussian", "gumbel", "laplace", "uniform")
        ),
        (*COMPARED, "drbo paper 20k", "ALIAS 20k", "causal-learn DirectLiNGAM"),
        seeds=5,
    ),
    "graphs": Experiment(
        "Graph types, 20 nodes, n = 10,000 (Table 3)",
        tuple(linear(graph, "n = 10,000", n=10_000) for graph in ("20ER2", "20ER8", "20SF2", "20SF8")),
        (*COMPARED, "drbo paper", "ALIAS 10k"),
        seeds=5,
    ),
    "sizes": Experiment(
        "Sample sizes, 20ER4 (Fig. 4)",
        tuple(linear("20ER4", f"n = {n:,}", n=n) for n in (100, 200, 500, 1_000, 2_000, 5_000)),
        ("drbo default", "drbo paper 20k", "dagma linear", "EqVar", "sortnregress"),
        seeds=5,
    ),
    "null": Experiment(
        "Independent columns: every edge is false",
        (linear("10ER0", "null", model="null"),),
        SOME,
        seeds=20,
    ),
    "few_rows": Experiment(
        "Fewer rows than columns",
        (linear("50ER1", "n = 40", n=40),),
        without(QUICK, "drbo paper", "dagma linear", "R2-sortnregress"),
        seeds=5,
    ),
    "weak": Experiment(
        "Weak edges: weights in [0.1, 0.3]",
        (linear("10ER2", "weak", options={"low": 0.1, "high": 0.3}),),
        SOME,
        seeds=20,
    ),
    "heavy": Experiment(
        "Heavy tails: Student's t with 3 degrees of freedom",
        (linear("10ER2", "t3", model="heavy"),),
        SOME,
        seeds=20,
    ),
    "confounder": Experiment(
        "One hidden confounder: the node with the most children is left out",
        (linear("10ER2", "one hidden", model="confounded"),),
        SOME,
        seeds=20,
    ),
    "bnlearn": Experiment(
        "Linear-Gaussian data on real structures (Table 1)",
        tuple(linear(graph, "structure") for graph in ("asia", "cancer", "earthquake", "child", "alarm")),
        (
            *names("drbo default, drbo paper 20k"),
            *SEQUENTIAL,
            *names("ALIAS 20k, gcastle GOLEM, gcastle CORL, sortnregress, EqVar, causal-learn GES, tabu, random graph"),
        ),
        seeds=5,
    ),
    "sachs": Experiment(
        "Sachs: 853 rows, 11 proteins, 17 edges",
        (
            DataSet("sachs", "sachs", "file", 853, score="bic-nv", prune="kci"),
            DataSet("sachs standardised", "sachs", "file", 853, standardised=True, score="bic-nv", prune="kci"),
        ),
        PROTEINS,
        seeds=5,
        less={"sachs": Plan(("drbo default", *ADDITIONAL, "gcastle PC (stable)", "tabu", "random graph"), 5)},
    ),
    "sachs_paper": Experiment(
        "Sachs with the paper's score, beside what its kernel test leaves of random complete graphs",
        (
            DataSet(
                "sachs, the paper's score",
                *("sachs", "file", 853),
                score="gp-nv",
                prune="kci",
                score_options={"standardize": True, "median_scale": True, "alpha": 1e-8},
            ),
        ),
        ("drbo paper 20k", "random order", "drbo gp"),
        seeds=5,
        limit=600.0,
        quick=("drbo paper quick", "random order"),
    ),
    "gp": Experiment(
        "Nonlinear data with Gaussian processes, 10ER4 (GraN-DAG's sets 1 to 5)",
        (DataSet("10ER4 GP", "gran_dag", "file", score="gp-nv", prune="cam"),),
        NONLINEAR,
        seeds=5,
    ),
    "gp_standardised": Experiment(
        "The same, standardised (Fig. 7b)",
        (
            DataSet("10ER4 GP standardised", "gran_dag", "file", standardised=True, score="gp-nv", prune="cam"),
            DataSet(
                "10ER4 GP standardised, unpruned", "gran_dag", "file", standardised=True, score="gp-nv", prune="none"
            ),
        ),
        ("drbo paper", "DiffAN"),
        seeds=5,
        less={"10ER4 GP standardised, unpruned": Plan(("drbo paper 20k",), 5)},
    ),
    "cos": Experiment(
        "Large nonlinear data: x = B cos(x) + e (Fig. 8)",
        tuple(DataSet(f"{g} cos", g, "cos", score="splines", prune="cam-sequential") for g in ("50ER2", "100ER1")),
        ("drbo default", "ALIAS 20k", "CAM", "sortnregress", "random graph"),
        seeds=5,
        limit=300.0,
    ),
    "equivalence": Experiment(
        "Small data, where the best of all DAGs is known (App. F)",
        tuple(
            DataSet(f"5ER1 {score}", "5ER1", model, score=score, prune="none")
            for score, model in (("bge", "linear"), ("logistic", "logistic"))
        ),
        SMALL["bge"],
        seeds=50,
        quick=("drbo same score", "causal-learn GES"),
        less={"5ER1 logistic": Plan(SMALL["logistic"], 50)},
    ),
    "discrete": Experiment(
        "Discrete data drawn from real networks: every method maximises the same score",
        tuple(
            DataSet(
                f"{graph} {score}, n = {n:,}", graph, "network", n, score=score, prune="none", score_options=options
            )
            for graph in ("asia", "child", "insurance", "alarm")
            for n in (1_000, 10_000)
            for score, options in (("bdeu", {"ess": 1.0}), ("bic-discrete", {}))
        ),
        (
            *names("drbo same score, pgmpy hill climbing"),
            *names("causal-learn GES (our score), causal-learn BOSS (our score)"),
        ),
        seeds=3,
        limit=120.0,
        quick=names("drbo same score, causal-learn GES (our score)"),
    ),
    "curves": Experiment(
        "Learning curves (Fig. 1a and 1b)",
        (linear("30ER8"), linear("100ER2")),
        ("drbo default", "drbo paper 50k", "ALIAS 50k", "COSMO", "NOTEARS+TMPI", "dagma linear"),
        seeds=5,
        limit=120.0,
        curves=True,
        less={"100ER2 raw": Plan(("drbo default", "drbo paper 50k", "COSMO", "dagma linear"), 5)},
    ),
    "curves_gp": Experiment(
        "Learning curves on nonlinear data, nothing pruned (Fig. 1c)",
        (DataSet("10ER4 GP unpruned", "gran_dag", "file", score="gp-nv", prune="none"),),
        ("drbo paper 20k", "ALIAS 20k", "COSMO nonlinear"),
        seeds=5,
        limit=600.0,
        curves=True,
    ),
    "ablations": Experiment(
        "One knob of the paper's preset at a time, 20ER4, 20,000 evaluations",
        (linear("20ER4"),),
        ABLATIONS,
        seeds=5,
        limit=600.0,
        quick=("drbo paper quick",),
    ),
}
