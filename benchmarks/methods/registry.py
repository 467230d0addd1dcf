"""The table of methods: names, settings and their source in one place."""

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from benchmarks.methods import libraries as lib
from benchmarks.methods import ours
from benchmarks.methods.base import Learn, Method, Task, installed

EQUAL = "penalty 1, as ours"
AS_PAPER = "the authors' repository or paper, named in the module; score and pruning as ours, as in the paper on DrBO"
#: One knob of the paper's preset at a time; values of the paper's figures where they name them, else around its own.
ABLATED: dict[str, tuple[float | int | str, ...]] = {
    "rank": (2, 4, 12, 32),
    "space": ("full-rank",),
    "batch_size": (16, 32, 128, 256),
    "n_candidates": (1_000, 10_000),
    "n_grads": (1, 5, 20, 50),
    "n_replay": (0, 256, 4_096),
    "learning_rate": (0.001, 0.01, 1.0),
    "hidden": (8, 16, 32, 128, 256),
    "dropout": (0.01, 0.2, 0.5),
}


def own(task: Task, module: str, **settings: Any) -> Learn:
    """Make a method of ours ready: score, pruning and device of the task, unless the settings say otherwise."""
    learn = import_module(f"benchmarks.methods.{module}").learn
    given = {
        "score": task.score,
        "score_options": task.scoring,
        "prune": task.prune,
        "device": task.device,
        **({"degree": task.options["degree"]} if "degree" in task.options else {}),  # of the control of equal density
    }
    taken = {name: value for name, value in given.items() if name in signature(learn).parameters}
    return lambda: learn(task.table.values, seed=task.seed, record=task.follow, **{**taken, **settings})


def _own(module: str, source: str = AS_PAPER, same_score: bool = False, **settings: Any) -> Method:
    return Method(own, {"module": module, **settings}, source, same_score)


def _paper(evals: int, **changes: Any) -> Method:
    settings = {"preset": "paper", "evals": evals, **changes}
    return Method(ours.paper_loop, settings, "the paper's table of hyperparameters", same_score=True, package="drbo")


def _class(make: Any, package: str, source: str, **settings: Any) -> Method:
    return Method(make, settings, source, kind="CPDAG", package=package, same_score=source == EQUAL)


OURS: dict[str, Method] = {
    "drbo default": Method(ours.estimator, source="defaults", same_score=True, package="drbo"),
    "drbo auto": Method(ours.estimator, {"score": "auto"}, "defaults, the score too", package="drbo"),
    "drbo gp": Method(
        ours.estimator, {"score": "gp", "max_evals": 300}, "defaults, a score whose noise is fitted", package="drbo"
    ),
    "drbo same score": Method(
        ours.estimator, {"same_score": True}, "penalty and options as the others have", same_score=True, package="drbo"
    ),
    "drbo sparing": Method(
        ours.estimator, {"route": "surrogate"}, "the route for expensive scores", same_score=True, package="drbo"
    ),
    "drbo networks off": Method(
        ours.estimator, {"route": "surrogate", "surrogate": False}, "a control", same_score=True, package="drbo"
    ),
    "drbo paper": _paper(10_000),
    "drbo paper 20k": _paper(20_000),
    "drbo paper 50k": _paper(50_000),
    "drbo paper quick": _paper(256, n_candidates=1_000),
    "drbo paper 20k, variant retrained": _paper(20_000, variant="retrained"),
    **{
        f"drbo paper 20k, variant direct, hidden {hidden}": _paper(20_000, variant="direct", hidden=hidden)
        for hidden in (64, 256, 1_024)
    },
    "drbo paper 5k, n_candidates 10000": _paper(5_000, n_candidates=10_000),
    "drbo paper 5k, variant exact-gp": _paper(5_000, variant="exact-gp", n_candidates=10_000),
    "drbo paper 5k, variant approximate-gp": _paper(5_000, variant="approximate-gp", n_candidates=10_000),
    **{
        f"drbo paper 20k, {knob} {value}": _paper(20_000, **{knob: value})
        for knob, values in ABLATED.items()
        for value in values
    },
}
GCASTLE: dict[str, Method] = {
    "gcastle PC": _class(lib.gcastle_pc, "gcastle", "defaults"),
    "gcastle PC (stable)": _class(
        lib.gcastle_pc, "gcastle", "the skeleton does not depend on the order of columns", variant="stable"
    ),
    "gcastle GES": _class(lib.gcastle_ges, "gcastle", "defaults"),
    "gcastle GOLEM": Method(
        lib.gcastle_golem, source="defaults, threshold 0.3 too; may have cycles", package="gcastle"
    ),
    "gcastle CORL": Method(
        lib.gcastle_corl,
        {"evals": 20_000},
        "defaults; batch, score and number of evaluations of the paper on DrBO",
        same_score=True,
        package="gcastle",
    ),
}
CAUSAL_LEARN: dict[str, Method] = {
    "causal-learn PC": _class(lib.causal_learn_pc, "causal-learn", "defaults"),
    "causal-learn GES": _class(lib.causal_learn_ges, "causal-learn", EQUAL),
    "causal-learn GES (our score)": _class(lib.causal_learn_ges_same, "causal-learn", EQUAL),
    "causal-learn BOSS": _class(lib.causal_learn_orders, "causal-learn", EQUAL, search="BOSS", lambda_value=0.5),
    "causal-learn BOSS (recommended)": _class(
        lib.causal_learn_orders, "causal-learn", "defaults: penalty 4 on our scale", search="BOSS", lambda_value=None
    ),
    "causal-learn BOSS (our score)": _class(lib.causal_learn_boss_same, "causal-learn", EQUAL),
    "causal-learn GRaSP": _class(lib.causal_learn_orders, "causal-learn", EQUAL, search="GRaSP", lambda_value=0.5),
    "causal-learn GRaSP (recommended)": _class(
        lib.causal_learn_orders, "causal-learn", "defaults: penalty 4 on our scale", search="GRaSP", lambda_value=None
    ),
    "causal-learn kernel GES": _class(lib.causal_learn_kernel_ges, "causal-learn", "defaults"),
    "causal-learn DirectLiNGAM": Method(
        lib.direct_lingam, {"threshold": 0.0}, "defaults: adaptive lasso", package="causal-learn"
    ),
}
OTHERS: dict[str, Method] = {
    "dagma linear": Method(lib.dagma_linear, source="defaults: lambda 0.03, threshold 0.3", package="dagma"),
    "dagma nonlinear": Method(
        lib.dagma_nonlinear, {"hidden": 10, "lambda1": 0.02, "lambda2": 0.005}, "its example", package="dagma"
    ),
    **{
        f"dagma {weight}": Method(lib.dagma_logistic, {"lambda1": weight}, "its example and around it", package="dagma")
        for weight in (0.02, 0.03, 0.05)
    },
    "flopsearch FLOP": Method(
        lib.flop,
        {"penalty": None, "restarts": None},
        f"{EQUAL}; as many seconds as drbo default",
        same_score=True,
        kind="CPDAG",
        package="flopsearch",
        anytime=True,
        seeded=False,
    ),
    "flopsearch FLOP (200 restarts)": Method(
        lib.flop,
        {"penalty": None, "restarts": 200},
        f"{EQUAL}; ten times the restarts of its documentation",
        same_score=True,
        kind="CPDAG",
        package="flopsearch",
        seeded=False,
    ),
    "flopsearch FLOP (recommended)": Method(
        lib.flop,
        {"penalty": 2.0, "restarts": 20},
        "its documentation",
        kind="CPDAG",
        package="flopsearch",
        seeded=False,
    ),
    "xges XGES": _class(lib.xges, "xges", EQUAL, alpha=1.0),
    "xges XGES (recommended)": _class(lib.xges, "xges", "defaults: penalty 2 on our scale", alpha=2.0),
    "pgmpy hill climbing": Method(lib.pgmpy_hill_climb, source=EQUAL, same_score=True, package="pgmpy"),
    "EqVar": Method(lib.eqvar, source="Chen, Drton & Wang 2019; threshold 0.3"),
}
OWN: dict[str, Method] = {
    "NOTEARS+TMPI": _own("notears"),
    "COSMO": _own("cosmo"),
    "COSMO nonlinear": _own("cosmo", nonlinear=True, max_steps=20_000),
    "ALIAS": _own("alias", same_score=True),
    "ALIAS 10k": _own("alias", same_score=True, max_evals=10_000),
    "ALIAS 20k": _own("alias", same_score=True, max_evals=20_000),
    "ALIAS 50k": _own("alias", same_score=True, max_evals=50_000),
    "SCORE": _own("stein"),
    "DiffAN": _own("diffan"),
    "CAM": _own("cam"),
    "sortnregress": _own("sorting", criterion="variance"),
    "sortnregress (lasso)": _own("sorting", "CausalDisco", criterion="variance", prune="lasso"),
    "R2-sortnregress": _own("sorting", "CausalDisco", criterion="r2", prune="lasso"),
    "tabu": _own("controls", EQUAL, same_score=True, method="tabu"),
    "random order": _own("sorting", "a control: what pruning leaves of a complete graph", criterion="random"),
    "random graph": _own("controls", "a control: as dense as the truth", method="random"),
}
#: Names in the rows: library, then method; methods of our own have no library.
METHODS: Mapping[str, Method] = {**OURS, **GCASTLE, **CAUSAL_LEARN, **OTHERS, **OWN}


def library(method: str) -> str:
    """Return the library of a method with its installed version, or the method's name if it has none."""
    return METHODS[method].library or method if method in METHODS else installed(method)
