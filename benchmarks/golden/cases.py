"""The golden cases: tables from a seed, and what is done with them in Python and on the command line.

The module is long because every kind of table, score and option has a case.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.golden import tables
from benchmarks.golden.tables import (
    Make,
    categories,
    confounded,
    experiments,
    grown,
    mixed,
    panel,
    with_column,
    with_gaps,
)


class Fit(NamedTuple):
    """A fit in Python, and the methods that are called afterwards."""

    table: Make  # a column "weight" holds the weights of the rows
    options: Mapping[str, Any]  # of the estimator; knowledge and settings as mappings
    steps: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    interrupt: int = 0  # evaluations after which the search is stopped, and then resumed; 0: it is not
    executor: bool = False  # whether a thread computes local scores


class Commands(NamedTuple):
    """Lines of the command line, run in a folder that holds some tables and texts."""

    lines: tuple[str, ...]
    tables: Mapping[str, Make] = {"t.csv": grown()}
    texts: Mapping[str, str] = {}
    kept_rows: int | None = None  # rows of a stream that are kept; None: as many as usual


def fit(table: Make, *steps: tuple[str, Mapping[str, Any]], **options: Any) -> Fit:
    return Fit(table, options, steps)


def commands(*lines: str, **given: Any) -> Commands:
    return Commands(lines, **given)


def step(name: str, **options: Any) -> tuple[str, Mapping[str, Any]]:
    return name, options


# fmt: off
SPARING: dict[str, Any] = {"settings": {"route": "surrogate", "max_evals": 40}}
SHORT: dict[str, Any] = {"max_evals": 320, "n_candidates": 200, "batch_size": 16}
SHARED: dict[str, Any] = {**SHORT, "masks": "shared", "batch_norm": "training", "acquisition": "ucb",
                          "replay": "reservoir", "standardize_targets": True, "polish": True}
COUNTED = with_column(grown(5, 200), "weight", lambda n: np.arange(n) % 4)
SHARES = with_column(grown(5, 200), "weight", lambda n: 0.5 + np.arange(n) % 3)
CODED = with_column(categories(5, 200), "weight", lambda n: 1 + np.arange(n) % 3)
HALVES = with_column(categories(4, 360), "run", lambda n: np.array(["plain", "heat"])[np.arange(n) * 2 // n])
CONSTANT = with_column(grown(5), "same", lambda n: np.full(n, 2.0))
KNOWN = {"required": ["x1 -> x0"], "forbidden": [("x2", "x3")], "leaves": ["x5"], "roots": ["x4"],
         "max_parents": {"x0": 2, "x3": 1}}
RUN = {"experiment": "run", "control": "plain"}
TARGETS = {"heat": "x1", "cool": {"x2": "soft"}}
HARD = {"heat": {"x1": "hard"}, "cool": {"x2": "hard"}}
PRIOR = {"edge_prior": "alternating"}


def _sums() -> Any:
    return (frame := grown(4)()).assign(sum=frame.x0 + frame.x1)


SCORES: dict[str, Fit] = {
    "bic-ev": fit(grown(), score="bic-ev"),
    "bic-nv": fit(grown(7, 300, 1), score="bic-nv"),
    "bic-nv-ebic": fit(grown(7, 100, 2), score="bic-nv", score_options={"penalty": "ebic", "gamma": 1.0}),
    "bic-nv-few-rows": fit(grown(9, 15, 3), score="bic-nv"),
    "bic-ng": fit(tables.heavy(), score="bic-ng"),
    "bge": fit(grown(7, 200, 4), score="bge"),
    "splines": fit(grown(5, 300, 5, "curved"), score="splines"),
    "splines-ranks": fit(grown(5, 300, 5, "square"), score="splines-ranks"),
    "gp": fit(grown(4, 60, 6, "curved"), score="gp", max_evals=12),
    "gp-ev": fit(grown(4, 60, 7, "curved"), score="gp-ev", max_evals=10),
    "gp-nv": fit(grown(3, 60, 7, "curved"), score="gp-nv", max_evals=8),
    "logistic": fit(tables.binary(), score="logistic", **SPARING),
    "logistic-orders": fit(tables.binary(4), score="logistic", settings={"route": "orders"}),
    "bic-discrete": fit(categories(), score="bic-discrete"),
    "bdeu": fit(categories(6, 300, 1), score="bdeu"),
    "mixed": fit(mixed(), score="mixed"),
    "mixed-cg": fit(mixed(5), score="mixed-cg", **SPARING),
    "min-strength": fit(grown(6, 2000), score="bic-nv", score_options={"min_strength": 0.05}),
    "edge-prior": fit(grown(), score="bge", score_options=PRIOR),
    "edge-prior-ev": fit(grown(5), score="bic-ev", score_options={**PRIOR, "penalty": 2}),
    "own-function": fit(grown(4, 100), score="function", max_evals=40),
    "own-function-executor": Fit(grown(4, 100), {"score": "function", "max_evals": 40}, executor=True),
    "own-function-rows": fit(grown(4, 200), score="function of rows", max_evals=20),
    "own-class": fit(grown(5, 100), score="class", max_evals=40),
    "own-class-exact": fit(grown(4, 100), score="class", exact=True),
    "executor": Fit(grown(5, 100), {"score": "bic-nv", **SPARING}, executor=True),
    "auto-linear": fit(grown(8, 400, 10)),
    "auto-heavy": fit(tables.heavy(5, 500, 11)),
    "auto-curved": fit(grown(4, 400, 12, "curved")),
    "auto-curved-long": fit(grown(5, 1500, 12, "curved")),
    "auto-square": fit(grown(4, 150, 13, "square")),
    "auto-ranks": fit(grown(4, 500, 12, "curved", then=lambda frame: np.exp(frame))),
    "auto-codes": fit(grown(5, 300, 14, then=lambda frame: frame.assign(x1=frame.x1.round().clip(-2, 2)))),
    "auto-categories": fit(categories(5, 300, 14)),
    "auto-binary": fit(tables.binary(5, 300, 15)),
    "auto-mixed": fit(mixed(6, 300, 16)),
    "auto-unrelated": fit(grown(5, 200, 17, degree=0.0)),
    "auto-experiments": fit(experiments(5, 360, 18), **RUN),
    "auto-many-rows": fit(grown(4, 20_000, 19)),
}
DATA: dict[str, Fit] = {
    "array": fit(lambda: grown(4)().to_numpy(), score="bge"),
    "polars": fit(lambda: pl.from_pandas(mixed(4)())),
    "arrow": fit(lambda: pl.from_pandas(grown(4)()).to_arrow(), groups=False),
    "two-columns": fit(grown(2, 200, 20)),
    "two-columns-curved": fit(grown(2, 300, 21, "curved")),
    "wide": fit(grown(150, 200, 22, degree=0.8), score="bic-nv", exact=False),
    "wide-300": fit(grown(300, 100, 22, degree=0.5), settings={"order_patience": 1}),
    "wide-screened": fit(grown(700, 60, 22, degree=0.3), score="bic-nv", settings={"order_patience": 1}),
    "hidden": fit(confounded, step("bootstrap", n=4), step("effects"), hidden=True),
    "hidden-knowledge": fit(confounded, hidden=True, knowledge={"forbidden": ["c -> b"], "required": ["a -> b"]}),
    "hidden-judged": fit(confounded, step("judge", half=True), step("next_experiments"), hidden=True, score="bic-nv"),
    "hidden-unclear": fit(grown(7, 150, 4), hidden=True),
    "weights-counts": fit(COUNTED, step("bootstrap", n=3), score="bic-nv"),
    "weights-shares": fit(SHARES, step("stability", seeds=2), score="bge"),
    "weights-discrete": fit(CODED, score="bic-discrete"),
    "weights-ng": fit(SHARES, score="bic-ng"),
    "missing-error": fit(with_gaps(grown())),
    "missing-drop": fit(with_gaps(grown()), missing="drop"),
    "missing-em": fit(with_gaps(grown()), step("bootstrap", n=3), missing="em"),
    "missing-impute": fit(with_gaps(grown(5)), missing="impute", imputations=3),
    "missing-impute-mixed": fit(with_gaps(mixed(4)), missing="impute", imputations=2),
    "groups": fit(panel(), step("bootstrap", n=3), groups="patient"),
    "groups-bge": fit(panel(), groups="patient", score="bge"),
    "groups-ignored": fit(panel(4), types={"patient": "category"}),
    "serial": fit(tables.series(5, 300, 23)),
    "serial-independent": fit(tables.series(5, 300, 23), groups=False),
    "serial-blocks": fit(tables.series(4, 200, 23), step("bootstrap", n=3, kind="block", block=10), score="bic-nv"),
    "experiments-known": fit(experiments(), targets=TARGETS, **RUN),
    "experiments-none-other": fit(experiments(), targets=TARGETS, score_options={"others": "none"}, **RUN),
    "experiments-drift": fit(experiments(), step("bootstrap", n=3), score_options={"drift": True}, **RUN),
    "experiments-hard": fit(experiments(), targets=HARD, score="bic-nv", **RUN),
    "experiments-hard-score": fit(experiments(), targets=HARD, **RUN),
    "experiments-misfit": fit(experiments(4, 360, 1, "square"), score="bic-experiments", **RUN),
    "experiments-bent": fit(tables.far, score="bic-experiments", knowledge={"roots": ["cause"]}, **RUN),
    "experiments-unfollowed": fit(tables.sensors, **RUN),
    "experiments-splines": fit(experiments(4, effect="curved"), score="splines-experiments", **RUN),
    "experiments-discrete": fit(HALVES, **RUN),
    "sorted": fit(grown(4, then=lambda frame: frame.sort_values("x0"))),
    "spread": fit(tables.spread, score="splines"),
    "constant-refused": fit(CONSTANT),
    "constant-dropped": fit(CONSTANT, on_constant="drop"),
    "collinear-kept": fit(_sums, on_collinear="keep"),
    "collinear-dropped": fit(_sums, on_collinear="drop"),
    "types": fit(mixed(4), types={"x0": "level 0<level 1"}),
}
SEARCH: dict[str, Fit] = {
    "knowledge": fit(grown(), score="bic-nv", knowledge=KNOWN),
    "knowledge-tiers": fit(grown(), knowledge={"tiers": [["x3", "x1"], ["x0", "x2"]], "forbid_within_tiers": True}),
    "knowledge-context": fit(grown(), score="splines", knowledge={"context": ["x5", "x0"], "max_parents": 2}),
    "knowledge-contradicted": fit(tables.bent, knowledge={"required": ["effect -> cause"]}),
    "knowledge-unknown": fit(grown(), knowledge={"roots": ["y1"]}),
    "knowledge-contradiction": fit(grown(), knowledge={"required": ["x0 -> x1"], "roots": ["x1"]}),
    "exact-on": fit(grown(9, 300, 30), score="bic-nv", exact=True),
    "exact-on-ev": fit(grown(8, 300, 30), score="bic-ev", exact=True),
    "exact-off": fit(grown(8, 300, 32), exact=False),
    "exact-discrete": fit(categories(7, 300, 33), score="bdeu", exact=True),
    "exact-sets": fit(grown(18, 500, 31, degree=1), score="bic-nv", exact=True, settings={"max_memory": 0.02}),
    "exact-sets-ev": fit(grown(17, 500, 31, degree=0.7), score="bic-ev", exact=True, settings={"max_memory": 0.01}),
    "exact-sets-discrete": fit(categories(17, 200, 31), score="bdeu", exact=True, settings={"max_memory": 0.01},
                               knowledge={"max_parents": 2}),
    "exact-sets-auto": fit(grown(26, 500, 31, degree=0.8), score="bge"),
    "exact-gap": fit(grown(30, 200, 2), score="bge", exact=True, settings={"max_memory": 0.01},
                     knowledge={"max_parents": 2}),
    "exact-none": fit(grown(30, 100, 31, degree=3), score="bic-nv", exact=True, settings={"max_memory": 0.01}),
    "surrogate": fit(grown(8, 300, 34), score="bic-nv", **SPARING),
    "surrogate-knowledge": fit(grown(), score="bic-ev", knowledge=KNOWN, **SPARING),
    "surrogate-candidates": fit(grown(12), score="bge", settings={**SPARING["settings"], "candidate_parents": 4}),
    "surrogate-splines": fit(grown(5, 150, 35, "curved"), score="splines", max_evals=30),
    "max-local": fit(grown(8), score="bic-nv", settings={"max_local": 200}),
    "target-score": fit(grown(8), score="bic-nv", settings={"target_score": -1e9}),
    "paper": fit(grown(5), score="bic-ev", preset="paper", settings=SHORT),
    "paper-full-rank": fit(grown(5), preset="paper", settings={**SHORT, "space": "full-rank"}),
    "paper-shared": fit(grown(5), score="bic-nv", preset="paper", settings=SHARED),
    "prune-none": fit(grown(6, 80, 36), score="bic-ev", prune="none"),
    "prune-f-test": fit(grown(6, 80, 36), score="bic-ev", prune="f-test"),
    "prune-odds": fit(grown(6, 80, 36), score="bic-nv", prune="odds"),
    "prune-odds-clear": fit(grown(12, 300, 36, degree=2), score="bic-ev", exact=False),
    "prune-threshold": fit(grown(6, 80, 36), prune="threshold", settings={"prune_threshold": 0.2}),
    "prune-cam": fit(grown(4, 150, 37, "curved"), score="splines", prune="cam"),
    "prune-cam-sequential": fit(grown(4, 150, 37, "curved"), score="splines", prune="cam-sequential"),
    "prune-kci": fit(grown(4, 80, 37, "curved"), score="splines", prune="kci"),
    "start": fit(grown(4), score="bic-nv", start=np.triu(np.ones((4, 4)), 1), **SPARING),
    "expected-parents": fit(grown(), score="bge", settings={"expected_parents": 0.5}),
    "seed": fit(grown(10, 100, 38), score="bic-nv", exact=False, random_state=5),
    "resume": Fit(grown(7, 200, 39), {"score": "bic-nv", "settings": {"route": "surrogate", "max_evals": 60}}, (), 25),
    "resume-orders": Fit(grown(12, 200, 39), {"score": "bic-ev", "exact": False}, (), 100),
    "resume-paper": Fit(grown(4), {"score": "bic-ev", "preset": "paper", "settings": SHORT}, (), 100),
    "resume-experiments": Fit(experiments(), {"max_evals": 30, **RUN}, (), 12),
    "bootstrap": fit(
        grown(), step("bootstrap", n=6), step("judge", half=True), step("effects", source="x0", target="x3", n=4),
        step("effects", half=True), step("next_experiments"), step("score_on", half=True), score="bic-nv",
    ),
    "subsample": fit(grown(5), step("bootstrap", n=4, kind="subsample"), score="bge"),
    "bootstrap-splines": fit(
        grown(3, 150, 5, "curved"), step("bootstrap", n=3), step("judge", half=True), score="splines"
    ),
    "stability": fit(grown(10, 80, 40), step("stability", seeds=3), exact=False),
    "tree": fit(grown(14, 400, 42, degree=0.9), step("next_experiments"), step("effects", source="x0", target="x1")),
    "categories-afterwards": fit(
        categories(5, 400, 41), step("judge", half=True), step("next_experiments"),
        step("probabilities", source="x0", level="level 1", target="x2"),
    ),
    "experiments-afterwards": fit(
        experiments(), step("effects"), step("judge", half=True), step("next_experiments"), **RUN
    ),
}
OWN = "--score benchmarks.golden.adapter:Interrupted"
EXPORTS = ("g.dot", "g.gml", "g.graphml", "g.dagitty", "g.bnlearn", "g.lavaan", "g.csv", "g.json", "g.npz", "g.none")
FORMATS = ("t.parquet", "t.feather", "t.npz", "t.tsv", "t.db", "t.csv.gz")
TEXT = "source,target\nx0,x1\nx2,x3\n"
CONFIG = '[fit]\ndata = "t.csv"\nscore = "bge"\n[settings]\nexact = "off"\n'
CLI: dict[str, Commands] = {
    "cli-fit": commands("fit t.csv -o run", "report run -o page.html", "resume run", "fit t.csv -o run"),
    "cli-json": commands("fit t.csv --score bic-ev --json", "fit t.csv --hidden --json -q"),
    "cli-afterwards": commands(
        "fit t.csv -o run -q", "effects run t.csv --from x0 --to x3", "effects run new.csv --to x3 --json",
        "effects run t.csv --from x0 --to x3 --bootstrap 3", "judge new.csv run", "judge t.csv run --random 19 --json",
        "next run", "next run t.csv --goal x0->x3 --rows 100 --json", "score t.csv run",
        "score t.csv g.csv --score bge --json", "compare run g.csv", "compare run run --json",
        "fit new.csv -o other -q --score bge", "compare run other --report compared.html",
        tables={"t.csv": grown(), "new.csv": grown(6, 200, 1)}, texts={"g.csv": TEXT},
    ),
    "cli-export": commands(
        "fit t.csv -o run -q", *(f"export run {name}" for name in EXPORTS), "export run class.dot --class"
    ),
    "cli-check": commands(
        "check t.csv", "check gaps.csv", "check panel.csv --groups patient", "check series.csv",
        "check runs.csv --experiment run --control plain",
        tables={"t.csv": grown(), "gaps.csv": with_gaps(mixed()), "panel.csv": panel(), "runs.csv": experiments(),
                "series.csv": tables.series(4)},
    ),
    "cli-interrupt": commands(
        f"fit t.csv {OWN} -o run", "resume run", f"resume run {OWN}",
        f"resume run --max-evals 5 --bootstrap 2 {OWN}", tables={"t.csv": grown(5, 100)},
    ),
    "cli-resume": commands(
        "fit t.csv --score bic-nv --max-evals 20 -o run", "resume run --max-evals 20", "resume run --bootstrap 3 --json"
    ),
    "cli-bootstrap": commands(
        "fit t.csv --bootstrap 4 -o run", "resume run --bootstrap 6", "fit t.csv --bootstrap 3 --clusters x0 --json"
    ),
    "cli-seeds": commands("fit t.csv --seeds 3 -o run", "resume run"),
    "cli-knowledge": commands(
        "fit t.csv --require x1->x0 --forbid x2->x3 --root x4 --leaf x5 --max-parents 3 -o run",
        "fit t.csv --tiers x0,x1;x2 --forbid-within-tiers --knowledge k.toml --context x5",
        "fit t.csv --require x1->nothing", texts={"k.toml": 'roots = ["x3"]\n'},
    ),
    "cli-config": commands("init run.toml --data t.csv", "fit --config mine.toml", texts={"mine.toml": CONFIG}),
    "cli-start": commands(
        "fit t.csv --max-evals 30 --start g.csv --set climbs=2 -o run", "fit t.csv --start run", texts={"g.csv": TEXT}
    ),
    "cli-missing": commands(
        "fit t.csv", "fit t.csv --missing em -o em", "fit t.csv --missing drop --bootstrap 3",
        "fit t.csv --missing impute --imputations 2 -o impute", tables={"t.csv": with_gaps(grown(5))},
    ),
    "cli-weights": commands("fit t.csv --weights weight -o run", "resume run", tables={"t.csv": COUNTED}),
    "cli-groups": commands(
        "fit t.csv --groups patient -o run", "resume run", "judge t.csv run", tables={"t.csv": panel()}
    ),
    "cli-experiments": commands(
        "fit t.csv --experiment run --control plain -o run",
        "fit t.csv --experiment run --control plain --targets k.csv --no-other-targets -o known",
        "next run", "effects run t.csv --from x0 --to x2", "judge t.csv known", "compare run known",
        tables={"t.csv": experiments()}, texts={"k.csv": "experiment,target,kind\nheat,x1,soft\ncool,x2,hard\n"},
    ),
    "cli-hidden": commands(
        "fit t.csv --hidden -o run --bootstrap 3", "fit t.csv --hidden --forbid a->b -o other", "compare run other",
        "report run -o page.html", "export run g.dot", "export run g.pcalg", "effects run t.csv",
        "judge t.csv run --as-is", "next run", "resume run", tables={"t.csv": confounded},
    ),
    "cli-categories": commands(
        "fit t.csv -o run", "effects run t.csv --do x0='level 1' --to x2", "judge t.csv run", "score t.csv run",
        tables={"t.csv": categories(5)},
    ),
    "cli-mixed": commands("fit t.csv -o run --prune odds", "fit t.csv --score bic-nv", tables={"t.csv": mixed(5)}),
    "cli-stream": commands(
        "fit t.csv --stream -o run --bootstrap 3", "resume run", "fit t.csv --stream --hidden", "check t.csv --stream",
        "fit t.csv --stream --score splines --json", "fit t.csv --stream --groups x0",
        tables={"t.csv": grown(5, 1500)}, kept_rows=300,
    ),
    "cli-stream-mixed": commands(
        "fit t.csv --stream -o run", "fit c.csv --stream --bootstrap 3", "fit g.csv --stream --missing em",
        tables={"t.csv": mixed(4, 900), "c.csv": categories(4, 900), "g.csv": with_gaps(grown(4, 900))}, kept_rows=200,
    ),
    "cli-stream-memory": commands("fit t.csv --set max_memory=0.01", tables={"t.csv": grown(8, 40_000)}, kept_rows=999),
    "cli-moments": commands(
        "moments a.csv -o a.npz", "moments b.csv -o b.npz --resamples 3", "fit a.npz b.npz -o run", "fit a.npz a.npz",
        "fit b.npz --bootstrap 3 --score bge", "fit a.npz --hidden", "resume run", "judge a.csv run",
        tables={"a.csv": grown(5, 300), "b.csv": grown(5, 200)},
    ),
    "cli-formats": commands(
        *(f"fit {name} -q" for name in (*FORMATS, "t.db::rows", "words.csv")), "fit parts", "fit c.parquet --stream",
        "moments parts -o parts.npz",
        tables={**{name: grown(4, 200) for name in FORMATS}, "parts/a.parquet": grown(4, 200),
                "parts/b.parquet": grown(4, 100), "c.parquet": categories(4)},
        texts={"words.csv": "größe;b\n" + "".join(f"{k % 7},5;{k * k % 11},25\n" for k in range(60))},
    ),
    "cli-workers": commands(
        "fit t.csv --workers 1 --bootstrap 2 --max-evals 10 --score benchmarks.golden.adapter:Size",
        tables={"t.csv": grown(4, 100)},
    ),
    "cli-lag": commands(
        "lag t.csv --lags 1 -o lagged.csv", "fit lagged.csv --knowledge lagged.toml -o run",
        tables={"t.csv": tables.series(3, 200)},
    ),
    "cli-datasets": commands(
        "datasets", "datasets sachs -o sachs.csv", "check sachs.csv",
        "simulate 5ER1 -n 100 -o data.csv --truth truth.csv", "fit data.csv --score bic-ev -o run",
        "compare run truth.csv", tables={},
    ),
    "cli-refused": commands(
        "fit nothing.csv", "fit t.csv --score bdue", "fit t.csv --set nothing=1", "fit t.csv --experiment nothing",
        "fit t.csv --score logistic", "fit t.csv --prune f-test --score bdeu", "report t.csv", "fit t.csv --seeds 1",
        "resume nothing", "fit t.csv --drop x0,x1,x2,x3,x4",
    ),
    "cli-types": commands(
        "fit t.csv --types x0=category --columns x0,x1,x2 -o run", "fit t.csv --drop x3 --on-constant drop --penalty 2",
        tables={"t.csv": tables.binary(5)},
    ),
    "cli-serial": commands(
        "fit t.csv -o run", "fit t.csv --independent-rows", "fit t.csv --bootstrap 3 --resampling block",
        tables={"t.csv": tables.series(4)},
    ),
}
# fmt: on
CASES: dict[str, Fit | Commands] = {**SCORES, **DATA, **SEARCH, **CLI}
