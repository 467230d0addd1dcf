"""Answers of other libraries: read in our convention, judged by our score, and never a crash."""

import sys

import numpy as np
import pytest

from benchmarks.methods import METHODS, Answer, Task, Worker, attempt, library, timed
from benchmarks.methods.libraries import _from_marks, _SameScore, as_text, pgmpy_score
from benchmarks.methods.metrics import dag_score, judge
from drbo.data.checks.check import check_table
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.registry import build_score

pytest.importorskip("causallearn")


def task(seed=0):
    data = simulate("5ER1", n=400, seed=seed)
    return Task(Statistics.from_array(data.X), "bic-nv", {"penalty": 1.0}), data.dag


def test_marks_of_causal_learn_become_edges():
    marks = np.array([[0, -1, -1, 1], [1, 0, 0, 0], [-1, 0, 0, 0], [1, 0, 0, 0]])  # 0 -> 1, 0 - 2, 0 <-> 3
    expected = [[0, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert _from_marks(marks).astype(int).tolist() == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        "causal-learn GES",
        "causal-learn GES (our score)",
        "causal-learn BOSS",
        "causal-learn BOSS (our score)",
        "causal-learn GRaSP",
        "tabu",
    ],
)
def test_rivals_find_the_equivalence_class_of_an_easy_table(name):
    given, truth = task()
    answer = timed(METHODS[name].ready(given))
    found = judge(answer, build_score(given.score, given.table, given.options), truth)
    assert (found["shd_c"], found["note"]) == (0, "")


def test_the_same_score_is_that_of_the_task():
    given, _ = task()
    score = build_score(given.score, given.table, given.options)
    dag = np.zeros((5, 5), dtype=bool)
    dag[[0, 3], 2] = dag[2, 4] = True
    same = _SameScore(given)
    total = sum(same.score(node, np.flatnonzero(dag[:, node]).tolist()) for node in range(5))
    assert total == pytest.approx(dag_score(score, dag))


def test_a_missing_library_is_an_answer(monkeypatch):
    monkeypatch.setitem(sys.modules, "dagma.linear", None)
    answer = attempt(lambda: METHODS["dagma 0.03"].ready(task()[0]))
    assert answer.graph is None
    assert answer.note.startswith("ModuleNotFoundError: import of dagma")


def test_a_rival_that_fails_is_an_answer():
    def learn():
        raise ZeroDivisionError("on line one\nand two")

    answer = attempt(lambda: timed(learn))
    assert answer.graph is None
    assert answer.note == "ZeroDivisionError: on line one"


def test_judge_scores_a_dag_of_the_class_and_measures_the_class():
    given, _ = task()
    score = build_score(given.score, given.table, given.options)
    truth = np.zeros((5, 5), dtype=bool)
    truth[0, 1] = True
    found = judge(Answer(truth | truth.T, 0.0, 0.0), score, truth)
    assert found["shd_c"] == 0
    assert float(found["found_score"]) == pytest.approx(dag_score(score, truth.T))


def test_judge_says_where_no_dag_fits():
    given, truth = task()
    score = build_score(given.score, given.table, given.options)
    cycle = np.zeros((5, 5), dtype=bool)
    cycle[[0, 1, 2], [1, 2, 0]] = True
    found = judge(Answer(cycle, 0.0, 0.0), score, truth)
    assert (found["found_score"], found["note"], found["n_found"]) == ("", "no DAG has these edges", 3)
    assert judge(Answer(None, 1.0, 0.5, "no answer in 1 s"), score, truth)["note"] == "no answer in 1 s"


def test_a_worker_answers_and_outlives_a_rival_that_takes_too_long():
    given, _ = task()
    with Worker() as worker:
        late = worker.ask("EqVar", given, limit=0.0)
        answer = worker.ask("EqVar", given, limit=60.0)
    assert (late.graph, late.note) == (None, "no answer in 0 s")
    assert answer.note == ""
    assert np.array_equal(answer.graph, timed(METHODS["EqVar"].ready(given)).graph)


def test_text_is_read_back_as_the_same_table():
    table, _ = check_table([["a", "x"], ["b", "y"], ["a", "x"], ["b", "z"]], on_collinear="keep")
    again, _ = check_table(as_text(table), on_collinear="keep")
    assert again.levels == table.levels
    assert np.array_equal(again.values, table.values)


def test_a_method_names_its_library_with_its_version():
    assert library("causal-learn GES").startswith("causal-learn 0.")
    assert library("EqVar") == "EqVar"
    assert library("drbo").startswith("drbo ")


@pytest.mark.filterwarnings("ignore")
def test_direct_lingam_orients_what_is_not_gaussian():
    data = simulate("5ER1", n=2_000, seed=100, noise="exponential")
    graph = METHODS["causal-learn DirectLiNGAM"].ready(Task(Statistics.from_array(data.X), "bic-ev"))()
    assert np.array_equal(graph, data.dag)


def test_pgmpy_has_the_same_scores_but_for_the_scale_of_bic():
    pytest.importorskip("pgmpy")
    codes = np.random.default_rng(0).choice(["a", "b", "c"], size=(100, 3))
    table, _ = check_table(codes.tolist(), on_collinear="keep")
    for name, scale in (("bdeu", 1.0), ("bic-discrete", 2.0)):
        given = Task(table, name, {"penalty": 1.0, **({"score_options": {"ess": 1.0}} if name == "bdeu" else {})})
        other = sum(pgmpy_score(given).local_score(column, ()) for column in table.names)
        ours = dag_score(build_score(name, table, given.scoring), np.zeros((3, 3), dtype=bool))
        assert scale * other == pytest.approx(ours)


def test_ours_with_the_same_score_has_the_penalty_of_the_task():
    data = simulate("4ER1", n=200, seed=100)
    edges = [
        timed(
            METHODS["drbo same score"].ready(Task(Statistics.from_array(data.X), "bic-nv", {"penalty": p}))
        ).graph.sum()
        for p in (1.0, 1e6)
    ]
    assert edges[0] > edges[1] == 0


def test_the_defaults_of_boss_and_grasp_are_four_times_our_penalty():
    given, _ = task()
    one, four = (METHODS[f"causal-learn {name}"].settings["lambda_value"] for name in ("BOSS", "BOSS (recommended)"))
    assert (one, four) == (0.5, None)  # None: the library takes 2
    graph = METHODS["causal-learn BOSS (recommended)"].ready(given)()
    assert graph.sum() <= METHODS["causal-learn BOSS"].ready(given)().sum()
