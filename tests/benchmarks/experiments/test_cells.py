"""The runner goes on where it stopped, a row's address is its content, and a time-out is a row."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.experiments import EXPERIMENTS, Experiment, Plan
from benchmarks.experiments import cells as run
from benchmarks.experiments.data import DataSet
from benchmarks.methods import METHODS, Answer, Method, Task, Worker, timed
from benchmarks.methods.process import _Sender
from benchmarks.rows import load, read
from drbo.data.statistics.statistics import Statistics

TINY = DataSet("tiny", "4ER1", n=60)


class InProcess:
    """A worker without a process: what methods answer does not depend on where they run."""

    def ask(self, method, task, limit):
        return replace(timed(METHODS[method].ready(task)), seconds=0.01, cpu_seconds=0.01)


@pytest.fixture
def runner(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "_worker", InProcess)
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("tiny", (TINY,), ("EqVar",), seeds=2))

    def start(**changes):
        with ThreadPoolExecutor(1) as executor:
            ran = run.run_experiment("tiny", run.Request(**changes), False, tmp_path, executor)
        return ran, load(tmp_path / "tiny.csv")

    return start


def cell(**changes):
    return replace(run.Cell("tiny", TINY, "EqVar", 0, 0, "cpu", 60.0, False), **changes)


def test_a_run_goes_on_where_it_stopped(runner):
    ran, rows = runner(seeds=[0])
    assert (ran, [row["seed"] for row in rows]) == (1, ["0"])
    ran, rows = runner()
    assert (ran, [row["seed"] for row in rows]) == (1, ["0", "1"])
    assert runner()[0] == 0


def test_other_settings_or_data_are_run_again_and_replace_the_row(runner, monkeypatch):
    _, before = runner(seeds=[0])
    make = lambda task, weight: lambda: task_graph(task)  # noqa: E731
    monkeypatch.setitem(METHODS, "EqVar", replace(METHODS["EqVar"], make=make, settings={"weight": 1}))
    ran, after = runner(seeds=[0])
    assert ran == len(after) == 1
    assert before[0]["address"] != after[0]["address"]
    assert after[0]["settings"] == '{"weight": 1}'


def task_graph(task):
    return np.zeros((task.table.values.shape[1],) * 2)


def test_an_address_depends_on_all_that_a_row_depends_on(monkeypatch):
    others = [
        cell(),
        cell(experiment="other"),
        cell(seed=1),
        cell(repeat=1),
        cell(method="drbo default"),
        cell(data=replace(TINY, n=61)),
        cell(data=replace(TINY, options={"low": 0.1})),
    ]
    assert len({other.address for other in others}) == len(others)
    assert cell(limit=1.0).address == cell(device="cuda").address == cell().address
    before = cell().address
    monkeypatch.setattr("drbo.__version__", "99")
    assert cell().address != before


def test_only_a_longer_limit_runs_a_time_out_again():
    row = {"address": cell().address, "note": "no answer in 60 s", "limit": "60.0"}
    assert run.is_done(cell(), row)
    assert not run.is_done(cell(limit=61.0), row)
    assert run.is_done(cell(limit=61.0), {**row, "note": ""})
    assert not run.is_done(cell(), {**row, "address": "another"})
    assert not run.is_done(cell(), None)


def test_a_time_out_and_a_failure_are_rows(runner, monkeypatch):
    class Late:
        def ask(self, method, task, limit):
            return Answer(None, limit, 0.0, f"no answer in {limit:g} s")

    monkeypatch.setattr(run, "_worker", Late)
    _, rows = runner(seeds=[0], limit=2.0)
    assert (rows[0]["note"], rows[0]["n_found"], rows[0]["limit"]) == ("no answer in 2 s", "", "2.0")


def test_methods_without_a_seed_are_repeated(runner, monkeypatch):
    monkeypatch.setitem(METHODS, "EqVar", replace(METHODS["EqVar"], seeded=False))
    ran, rows = runner(seeds=[0])
    assert ran == run.REPEATS
    assert [row["repeat"] for row in rows] == list("01234")


def test_rows_can_be_measured_again_from_their_graphs(runner):
    _, rows = runner(seeds=[0])
    spoiled = {**rows[0], "shd": "99", "found_score": ""}
    again = run.measure_again(spoiled, TINY)
    assert str(again["shd"]) == rows[0]["shd"]
    assert again["found_score"] == rows[0]["found_score"]


def test_every_experiment_names_methods_that_exist_and_data_that_differ():
    for name, experiment in EXPERIMENTS.items():
        assert set(experiment.methods) | set(experiment.quick) <= set(METHODS), name
        assert len({data.name for data in experiment.data}) == len(experiment.data), name


def test_a_worker_stopped_at_the_limit_answers_with_the_last_step():
    worker = Worker()
    steps, graph = [], np.eye(3, dtype=bool)

    class Connection:
        sent = ()

        def send(self, message):
            steps.append(message)

        def poll(self, seconds):
            return bool(self.sent)

        def recv(self):
            message, *self.sent = self.sent
            return message

        def close(self):
            pass

    connection = Connection()
    sender = _Sender(connection)
    sender(7, graph)
    sender(8, graph)  # too soon after the first
    assert len(steps) == 1
    sender(1_024, graph)  # as soon, but the first from 1,000 on
    sender(1_088, graph)
    assert [step.step for step in steps] == [7, 1_024]
    steps.pop()
    connection.sent = steps
    worker._connection = connection
    answer = worker._listen(0.5)
    assert np.array_equal(answer.graph, graph)
    assert (answer.note, answer.steps[0].step) == ("stopped after 0.5 s, step 7", 7)


def test_the_seconds_of_ours_are_given_to_anytime_methods(runner, monkeypatch):
    seen = []

    def make(task: Task):
        seen.append(task.options["seconds"])
        return lambda: task_graph(task)

    monkeypatch.setitem(METHODS, "anytime", Method(make, anytime=True))
    monkeypatch.setitem(METHODS, run.PACE, Method(make))
    runner(methods=f"anytime,{run.PACE}", seeds=[0])
    assert seen == [run.PACE_DEFAULT, 0.01]  # ours first, then the other with the seconds of ours


def test_ours_is_behind_the_same_interface():
    data = TINY.draw(3)
    answer = timed(METHODS["drbo default"].ready(Task(Statistics.from_array(data.X), "bic-ev", {"penalty": 1.0})))
    assert answer.graph.shape == (4, 4)
    assert answer.found.n_local > 4


def test_names_with_commas_can_be_chosen():
    known = ("drbo paper 20k", "drbo paper 20k, rank 2", "EqVar")
    assert run.chosen("drbo paper 20k, rank 2,EqVar", known) == ("drbo paper 20k, rank 2", "EqVar")
    assert run.chosen("EqVar, drbo paper 20k", known) == ("EqVar", "drbo paper 20k")
    with pytest.raises(SystemExit, match="unknown name: 'rank 3'"):
        run.chosen("drbo paper 20k, rank 3", known)


def test_a_data_set_may_have_a_smaller_plan(runner, monkeypatch):
    small = Experiment("tiny", (TINY,), ("EqVar", "random graph"), seeds=9, less={"tiny": Plan(("EqVar",), 2)})
    monkeypatch.setitem(EXPERIMENTS, "tiny", small)
    assert runner()[0] == 2


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_plan_names_methods_and_data_that_exist(name):
    declared = EXPERIMENTS[name]
    names = [data.name for data in declared.data]
    assert set(declared.less) <= set(names)
    assert {method for data in names for method in declared.plan(data).methods} <= METHODS.keys()


def test_a_row_of_ours_says_what_the_search_found_and_spent(runner):
    _, rows = runner(seeds=[0], methods="drbo default,EqVar")
    rival, ours = rows
    assert int(ours["n_local"]) >= int(ours["n_evals"]) > 0
    assert int(ours["n_searched"]) >= int(ours["n_found"])
    assert float(ours["searched_score"]) >= float(ours["found_score"]) - 1e-9
    assert rival["n_evals"] == ""


def test_addresses_of_committed_rows_are_still_those_of_their_cells(monkeypatch):
    declared = EXPERIMENTS["raw"]
    data = {one.name: one for one in declared.data}
    rows = [row for row in read("run/raw") if row["method"] in ("EqVar", "sortnregress", "tabu")]
    assert len(rows) > 50
    for row in rows:
        monkeypatch.setattr("drbo.__version__", row["drbo"])
        found = run.Cell("raw", data[row["data"]], row["method"], int(row["seed"]), 0, "cpu", 60.0, False)
        assert found.address == row["address"]


def test_options_of_a_score_belong_to_the_address_and_to_the_score(runner, monkeypatch):
    plain, heavier = TINY, replace(TINY, score_options={"penalty": 50.0})
    assert cell(data=plain).address != cell(data=heavier).address
    monkeypatch.setitem(EXPERIMENTS, "tiny", Experiment("tiny", (heavier,), ("tabu",), seeds=1))
    _, [row] = runner()
    assert row["n_found"] == "0"  # an edge costs more than it gains
