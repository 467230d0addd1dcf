"""The table of methods: names, settings and their source in one place."""

from benchmarks.methods import libraries as lib
from benchmarks.methods.base import Method, installed

EQUAL_PENALTY = "the penalty of the task"

#: Names in the rows: library, then method.
METHODS: dict[str, Method] = {
    "gcastle PC": Method(lib.gcastle_pc, kind="CPDAG", package="gcastle"),
    "gcastle GES": Method(lib.gcastle_ges, kind="CPDAG", package="gcastle"),
    "gcastle GOLEM": Method(
        lib.gcastle_golem, source="defaults, threshold 0.3 too; may have cycles", package="gcastle"
    ),
    "causal-learn PC": Method(lib.causal_learn_pc, kind="CPDAG", package="causal-learn"),
    "causal-learn GES": Method(lib.causal_learn_ges, kind="CPDAG", package="causal-learn"),
    "causal-learn GES (our score)": Method(
        lib.causal_learn_ges_same, source=EQUAL_PENALTY, same_score=True, kind="CPDAG", package="causal-learn"
    ),
    "causal-learn BOSS": Method(
        lib.causal_learn_boss, source="defaults: penalty 1 on our scale", kind="CPDAG", package="causal-learn"
    ),
    "causal-learn BOSS (our score)": Method(
        lib.causal_learn_boss_same, source=EQUAL_PENALTY, same_score=True, kind="CPDAG", package="causal-learn"
    ),
    "dagma linear": Method(lib.dagma_linear, source="defaults: lambda 0.03, threshold 0.3", package="dagma"),
    **{
        f"dagma {weight}": Method(lib.dagma_logistic, {"lambda1": weight}, "its example and around it", package="dagma")
        for weight in (0.02, 0.03, 0.05)
    },
    "flopsearch FLOP": Method(
        lib.flop, source=EQUAL_PENALTY, same_score=True, kind="CPDAG", package="flopsearch", anytime=True, seeded=False
    ),
    "EqVar": Method(lib.eqvar, source="Chen, Drton & Wang 2019; threshold 0.3"),
    "pgmpy hill climbing": Method(lib.pgmpy_hill_climb, source=EQUAL_PENALTY, same_score=True, package="pgmpy"),
}


def library(method: str) -> str:
    """Return the library of a method with its installed version, or the method's name if it has none."""
    return METHODS[method].library or method if method in METHODS else installed(method)
