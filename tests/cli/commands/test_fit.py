"""drbo fit, end to end on small tables."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result as CommandResult

from drbo.result.result import Result
from tests.hidden import confounded_table

Fast = tuple[str, ...]
Fit = Callable[..., dict[str, Any]]
Run = Callable[..., CommandResult]

INTERRUPTING_SCORE = """
import signal
class Score:
    def __init__(self, table):
        self.calls = 0
    def local_one(self, node, parents):
        self.calls += 1
        if self.calls == {call}:
            signal.raise_signal(signal.SIGINT)
        return -abs(len(parents) - 1.5) - node / 10
"""


@pytest.fixture
def fit(run: Run, fast: Fast) -> Fit:
    """Run a fast fit that must succeed, and return its JSON."""

    def call(*words: Any) -> dict[str, Any]:
        done = run("fit", *words, *fast, "--json")
        assert done.exit_code == 0, done.stderr
        content: dict[str, Any] = json.loads(done.stdout)
        return content

    return call


def _edges(content: dict[str, Any]) -> set[tuple[str, str]]:
    return {(edge["source"], edge["target"]) for edge in content["edges"]}


def test_text_goes_to_stdout_and_talk_to_stderr(run: Run, chain: Path, fast: Fast) -> None:
    done = run("fit", chain, *fast)
    assert done.exit_code == 0
    assert "wet -- slip" in done.stdout
    assert "evaluations" in done.stdout
    assert done.stderr == f"{chain}: 200 rows, 4 columns\n"


def test_quiet_says_nothing(run: Run, chain: Path, fast: Fast) -> None:
    done = run("fit", chain, *fast, "--quiet", "-o", "out")
    assert done.exit_code == 0
    assert done.stderr == ""
    assert "wet -- slip" in done.stdout


def test_json_holds_the_whole_answer(chain: Path, fit: Fit) -> None:
    found = fit(chain, "--score", "bic-ev", "--score-option", "penalty=1", "--seed", 0)
    assert _edges(found) == {("rain", "wet"), ("wet", "slip")}
    X = pd.read_csv(chain)
    slope = {e["target"]: e["weight"] for e in found["edges"]}
    assert slope["wet"] == pytest.approx(np.polyfit(X["rain"], X["wet"], 1)[0])
    assert slope["slip"] == pytest.approx(np.polyfit(X["wet"], X["slip"], 1)[0])
    variances = [
        X["rain"].var(ddof=0),
        np.polyfit(X["rain"], X["wet"], 1, full=True)[1][0] / 200,
        np.polyfit(X["wet"], X["slip"], 1, full=True)[1][0] / 200,
        X["sun"].var(ddof=0),
    ]
    assert found["pruned_score"] == pytest.approx(-200 * 4 * np.log(np.mean(variances)) - 2 * np.log(200))
    assert found["score"] >= found["pruned_score"] - 1e-9
    assert [(e["source"], e["target"], e["directed"]) for e in found["cpdag_edges"]] == [
        ("rain", "wet", False),
        ("wet", "slip", False),
    ]
    assert (found["names"], found["n_rows"], found["seed"]) == (["rain", "wet", "slip", "sun"], 200, 0)
    assert found["n_evals"] <= 30
    assert found["n_local"] <= 4 * 8
    assert found["seconds"] >= 0
    assert found["stopped"]
    assert isinstance(found["reasons"], list)
    assert found["settings"]["paper"]["n_candidates"] == 200


def test_the_same_command_gives_the_same_answer(chain: Path, fit: Fit) -> None:
    first, second = (fit(chain, "--seed", 5) for _ in range(2))
    assert first.pop("seconds") >= 0
    assert second.pop("seconds") >= 0
    assert first == second


def test_the_folder_holds_result_table_and_picture(chain: Path, fit: Fit) -> None:
    found = fit(chain, "-o", "out")
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "checkpoint",
        "edges.csv",
        "graph.svg",
        "report.html",
        "result.json",
        "result.npz",
        "run.json",
    ]
    assert sorted([*found["files"], "out/run.json"]) == sorted(
        str(path) for path in Path("out").iterdir() if path.is_file()
    )
    saved = Result.load("out")
    assert saved.score == found["score"]
    assert {tuple(edge) for edge in pd.read_csv("out/edges.csv")[["source", "target"]].to_numpy()} == _edges(found)
    assert Path("out/graph.svg").read_text().startswith("<svg")


def test_a_finished_run_is_replaced_only_by_force(run: Run, chain: Path, fit: Fit, fast: Fast) -> None:
    fit(chain, "-o", "out", "--seed", 3, "--bootstrap", 2)
    Path("out/mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    other = Path("other.csv")
    other.write_text(chain.read_text())
    refused = run("fit", other, "-o", "out", *fast)
    assert refused.exit_code == 2
    assert (
        f"folder 'out' already contains a finished run, created by 'drbo fit {chain} --max-evals 30" in refused.stderr
    )
    assert "200 rows, 4 columns, 2 edges" in refused.stderr
    assert "choose another folder with -o, or add --force to replace this run" in refused.stderr
    assert {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before
    other.write_text("a,b\n1,2\n")
    assert run("fit", other, "-o", "out", "--force", *fast).exit_code == 2  # a table that cannot be used costs nothing
    assert {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()} == before
    again = fit(chain, "-o", "out", "--seed", 9, "--force")
    assert (again["seed"], Result.load("out").seed) == (9, 9)
    assert Path("out/mine.txt").read_text() == "mine"
    assert not Path("out/resamples.json").exists()


def test_a_table_that_cannot_be_used_leaves_no_folder(run: Run, fast: Fast) -> None:
    Path("bad.csv").write_text("a,b\n1,2\n")
    assert run("fit", "bad.csv", "-o", "out/deep", *fast).exit_code == 2
    assert not Path("out/deep").exists()


def test_other_files_are_safe(run: Run, chain: Path, fast: Fast) -> None:
    done = run("fit", chain, "-o", ".", *fast)
    assert done.exit_code == 2
    assert "is not empty" in done.stderr
    assert "--force" in done.stderr
    assert not Path("result.json").exists()
    assert run("fit", chain, "-o", ".", "--force", *fast).exit_code == 0
    assert Path("result.json").exists()
    assert chain.exists()


def test_a_result_that_cannot_be_saved_is_still_printed(run: Run, chain: Path, fast: Fast) -> None:
    Path("out/result.json").mkdir(parents=True)  # a folder in the place of the file
    done = run("fit", chain, "-o", "out", "--force", *fast)
    assert done.exit_code == 1
    assert "wet -- slip" in done.stdout
    assert "cannot be written" in done.stderr


def test_knowledge_is_obeyed(chain: Path, fit: Fit) -> None:
    edges = _edges(fit(chain, "--require", "sun->slip", "--forbid", "rain->wet", "--forbid", "wet -> rain"))
    assert ("sun", "slip") in edges
    assert not edges & {("rain", "wet"), ("wet", "rain")}
    assert _edges(fit(chain, "--tiers", "slip;wet;rain,sun")) >= {("slip", "wet"), ("wet", "rain")}
    assert not {"wet", "slip"} & {edge[1] for edge in _edges(fit(chain, "--root", "wet", "--root", "slip"))}
    Path("known.toml").write_text('leaves = ["wet"]\n')
    assert "wet" not in {edge[0] for edge in _edges(fit(chain, "--knowledge", "known.toml"))}


def test_knowledge_from_a_file_joins_that_of_the_options(chain: Path, fit: Fit, run: Run, fast: Fast) -> None:
    Path("known.toml").write_text('[knowledge]\nrequired = ["sun -> slip"]\nmax_parents = {wet = 0}\n')
    edges = _edges(fit(chain, "--knowledge", "known.toml", "--forbid", "slip->wet"))
    assert ("sun", "slip") in edges
    assert "wet" not in {edge[1] for edge in edges}
    done = run("fit", chain, "--knowledge", "known.toml", "--root", "slip", *fast)
    assert done.exit_code == 2
    assert "'sun -> slip' is required but 'slip' is a root" in done.stderr


def test_the_proof_is_told(run: Run, chain: Path, fit: Fit, fast: Fast) -> None:
    done = run("fit", chain, "--set", "exact=on", *fast)
    assert "proof        the graph" in done.stdout
    found = fit(chain, "--set", "exact=on")
    assert (found["gap"], found["bound_valid_for"]) == (0.0, "all DAGs on 4 columns")
    assert found["upper_bound"] == pytest.approx(found["score"])
    assert found["top"][0]["behind"] == 0 < found["top"][1]["behind"]
    assert {"margin_removed", "margin_reversed", "reason"} <= set(found["edges"][0])
    without = fit(chain, "--set", "exact=off")
    assert [without[name] for name in ("upper_bound", "gap", "bound_valid_for")] == [None, None, None]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--require", "rain->fog"), "'fog' (in required 'rain -> fog') is not a column"),
        (("--require", "rain"), "rain"),
        (("--require", "rain->wet", "--forbid", "rain->wet"), "'rain -> wet' is required but forbidden"),
        (("--score", "best"), "got 'best'"),
        (("--score", "absent_module:Score"), "'absent_module:Score' cannot be imported"),
        (("--set", "prune=scissors"), "got 'scissors'"),
        (("--score-option", "penalty=-1"), "penalty must be a number >= 0 or 'ebic', got -1.0"),
        (("--set", "dropout=1.5"), "dropout must be in [0, 1), got 1.5"),
        (("--max-evals", "5", "--set", "max_evals=7"), "--max-evals and --set max_evals=... set the same value"),
    ],
)
def test_options_that_cannot_work(run: Run, chain: Path, words: tuple[str, ...], message: str) -> None:
    done = run("fit", chain, *words)
    assert done.exit_code == 2
    assert done.stdout == ""
    (error,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert message in error
    assert "Traceback" not in done.stderr


def test_bad_data_names_the_column_and_the_option(run: Run, chain: Path, fast: Fast, fit: Fit) -> None:
    pd.read_csv(chain).assign(one=1.0, copy=lambda frame: frame["sun"]).to_csv("bad.csv", index=False)
    done = run("fit", "bad.csv", *fast)
    assert done.exit_code == 2
    assert "column 'one' is constant" in done.stderr
    assert "column 'sun' is a copy of column 'copy'" in done.stderr
    assert "drbo fit bad.csv --drop one,sun" in done.stderr.splitlines()[-1]
    done = run("fit", "bad.csv", "--set", "on_constant=drop", *fast)
    assert done.exit_code == 2
    assert "--set on_collinear=drop" in done.stderr
    found = fit("bad.csv", "--set", "on_constant=drop", "--set", "on_collinear=drop")
    assert len(found["names"]) == 4
    assert any("dropped column 'one'" in reason for reason in found["reasons"])


def test_penalty_reaches_the_score(chain: Path, fit: Fit) -> None:
    assert _edges(fit(chain, "--score-option", "penalty=1000", "--set", "prune=none")) == set()
    assert fit(chain, "--score-option", "penalty=ebic")["score_options"] == {"penalty": "ebic"}


@pytest.mark.torch
def test_time_limit_and_preset(run: Run, chain: Path) -> None:
    words = ("--time-limit", "0.001s", "--set", "preset=paper", "--quiet", "--json")
    done = run("fit", chain, *words)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["stopped"] == "time limit of 0.001 s reached"
    assert (found["score_name"], found["n_evals"], found["settings"]["paper"]["batch_size"]) == ("bic-ev", 64, 64)


def test_hostile_names_do_not_reach_the_terminal(run: Run, chain: Path, fast: Fast, fit: Fit) -> None:
    frame = pd.read_csv(chain)
    frame.columns = ["a\x1b[31m", "b\nerror: c", "\u202ed", "e"]
    frame.to_csv("hostile.csv", index=False)
    done = run("fit", "hostile.csv", *fast)
    assert done.exit_code == 0
    assert all(line.isprintable() for line in done.output.split("\n"))
    assert not any(line.startswith("error") for line in done.output.split("\n"))
    assert set(fit("hostile.csv")["names"]) == set(frame.columns)  # JSON keeps them as they are


def test_a_score_in_the_current_folder(chain: Path, monkeypatch: pytest.MonkeyPatch, fit: Fit) -> None:
    monkeypatch.setattr("sys.path", ["/nowhere/in/particular", *sys.path])
    Path("fewest_edges.py").write_text(
        "class Fewest:\n"
        "    def __init__(self, table):\n        pass\n"
        "    def local_one(self, node, parents):\n        return -float(len(parents))\n"
    )
    found = fit(chain, "--score", "fewest_edges:Fewest")
    assert (_edges(found), found["score"]) == (set(), 0.0)


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_an_interrupt_keeps_the_best_graph(
    run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.syspath_prepend(".")
    monkeypatch.delitem(sys.modules, "interrupting", raising=False)
    Path("interrupting.py").write_text(INTERRUPTING_SCORE.format(call=15))
    before = signal.getsignal(signal.SIGINT)
    done = run("fit", chain, "--score", "interrupting:Score", "-o", "out", "--set", "batch_size=2", *words)
    assert done.exit_code == 130, done.output
    assert "interrupted: finishing with the best graph so far" in done.stderr
    assert Result.load("out").stopped == "interrupted"
    assert (json.loads(done.stdout)["stopped"] if words else done.stdout).count("interrupted") == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_before_the_first_graph_still_has_an_answer(
    run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch, fast: Fast
) -> None:
    monkeypatch.syspath_prepend(".")
    monkeypatch.delitem(sys.modules, "interrupting", raising=False)
    Path("interrupting.py").write_text(INTERRUPTING_SCORE.format(call=1))
    done = run("fit", chain, "--score", "interrupting:Score", "-o", "out", *fast)
    assert done.exit_code == 130
    found = Result.load("out")
    assert found.stopped == "interrupted"
    assert np.isfinite(found.score)
    assert not found.dag.any()


def test_a_bootstrap_adds_its_shares(chain: Path, run: Run) -> None:
    done = run("fit", chain, "--score", "bic-nv", "--bootstrap", 8, "-o", "out", "--json", "-q")
    assert done.exit_code == 0
    edges = json.loads(done.stdout)["edges"]
    assert min(edge["link_frequency"] for edge in edges) > 0.8
    assert Result.load("out").confidence.n == 8
    assert "the same fit finds on 8 resamples" in Path("out/report.html").read_text()
    assert "--bootstrap 8" in Result.load("out").call


def test_clusters_are_no_variable(chain: Path, run: Run) -> None:
    rows = chain.read_text().splitlines()
    grouped = [f"{rows[0]},patient", *(f"{row},p{k // 10}" for k, row in enumerate(rows[1:]))]
    chain.write_text("\n".join(grouped))
    words = ("fit", chain, "--score", "bic-nv", "-o", "out")
    assert run(*words, "--bootstrap", "cluster=patient:4", "-q").exit_code == 0
    result = Result.load("out")
    assert result.names == ("rain", "wet", "slip", "sun")
    assert (result.confidence.kind, result.confidence.n) == ("cluster", 4)
    assert "there is no column 'doctor'" in run(*words, "--bootstrap", "cluster=doctor:4", "--force").stderr


def test_workers_change_nothing(chain: Path, run: Run) -> None:
    words = ("fit", chain, "--score", "bic-nv", "--bootstrap", 6, "-q", "-o")
    assert run(*words, "alone").exit_code == run(*words, "together", "--workers", 2).exit_code == 0
    alone, together = (Result.load(folder).confidence for folder in ("alone", "together"))
    assert (alone.directed == together.directed).all()


def test_a_result_is_edited_and_fitted_again(chain: Path, run: Run) -> None:
    assert run("fit", chain, "--score", "bic-nv", "-o", "first", "-q").exit_code == 0
    words = ("fit", chain, "--score", "bic-nv", "--set", "start=first", "--require", "slip->rain", "-o", "second", "-q")
    assert run(*words).exit_code == 0
    result = Result.load("second")
    assert result.dag[result.names.index("slip"), result.names.index("rain")]
    assert "--set start=first" in result.call
    Path("other.csv").write_text("source,target\nrain,snow\n")
    done = run("fit", chain, "--set", "start=other.csv")
    assert done.exit_code == 2
    assert "'snow'" in done.stderr


def test_missing_values_by_policy(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    x[:, 1] += x[:, 0]
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).mask(rng.random((200, 3)) < 0.1)
    path = tmp_path / "holes.csv"
    frame.to_csv(path, index=False)
    refused = run("fit", str(path))
    assert refused.exit_code == 2
    assert "hint: use --missing drop" in refused.stderr
    for policy, words in (("drop", "MCAR"), ("em", "the effective sample size is"), ("impute", "imputed tables")):
        done = run("fit", str(path), "--missing", policy, "-q")
        assert done.exit_code == 0, done.stderr
        assert words in done.stdout
    assert run("fit", str(path), "--set", "imputations=3").exit_code == 2
    assert run("fit", str(path), "--missing", "impute", "--bootstrap", "5").exit_code == 2
    saved = run("fit", str(path), "--missing", "impute", "--set", "imputations=3", "-o", str(tmp_path / "out"), "-q")
    assert saved.exit_code == 0, saved.stderr
    assert "imputed copies of the table" in (tmp_path / "out" / "report.html").read_text()


def test_weights_and_seeds(run, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 3))
    x[:, 1] += x[:, 0]
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(times=rng.integers(1, 4, size=120))
    path = tmp_path / "weighted.csv"
    frame.to_csv(path, index=False)
    done = run("fit", str(path), "--weights", "times", "--score", "bic-nv", "--bootstrap", "3", "-q")
    assert done.exit_code == 0, done.stderr
    assert f"120 rows count as {frame['times'].sum()}" in done.stdout
    assert "times ->" not in done.stdout
    seeds = run("fit", str(path), "--weights", "times", "--set", "seeds=2", "-q", "-o", str(tmp_path / "out"))
    assert seeds.exit_code == 0, seeds.stderr
    assert "2 seeds" in seeds.stdout
    assert run("fit", str(path), "--weights", "weight").exit_code == 2
    assert run("fit", str(path), "--weights", "c", "--score", "bic-nv").exit_code == 2
    assert run("fit", str(path), "--set", "seeds=2", "--bootstrap", "3").exit_code == 2


def test_hidden_causes_are_allowed_saved_and_exported(run: Run, folder: Path) -> None:
    confounded_table().to_csv("table.csv", index=False)
    done = run("fit", "table.csv", "--hidden", "-o", "run", "--json")
    assert done.exit_code == 0, done.stderr
    edges = {(edge["source"], edge["target"]): edge["mark_source"] for edge in json.loads(done.stdout)["edges"]}
    assert edges["b", "c"] == "arrow"
    assert "something not in the table is involved" in (folder / "run" / "report.html").read_text()
    assert run("export", "run", "graph.pcalg").exit_code == 0
    effects = run("effects", "run", "table.csv", "--from", "b", "--to", "e")
    assert "adjusted for   nothing" in effects.stdout
    judged = run("judge", "table.csv", "run", "--random", "19", "--permutations", "19")
    assert judged.exit_code == 0, judged.stderr
    assert "each two columns without an edge" in judged.stdout
    assert run("judge", "table.csv", "run", "--score", "bge").exit_code == 2
    often = run("fit", "table.csv", "--hidden", "--bootstrap", "2", "-q")
    assert "of 2 resamples" in often.stdout


def test_graphs_with_hidden_causes_are_compared_by_their_marks(run: Run, folder: Path) -> None:
    confounded_table().to_csv("table.csv", index=False)
    run("fit", "table.csv", "--hidden", "-o", "run", "-q")
    Path("truth.csv").write_text("source,target\na,b\nH,b\nH,c\nd,c\nb,e\n")
    found = json.loads(run("compare", "run", "truth.csv", "--json").stdout)
    assert found["equal"]
    assert found["bidirected"] == {"right": 1, "claimed": 1, "true": 1, "precision": 1.0, "recall": 1.0}
    assert "same           4" in run("compare", "run", "run").stdout
    confounded_table().drop(columns="e").to_csv("less.csv", index=False)
    run("fit", "less.csv", "--hidden", "-o", "less", "-q")
    assert "have different columns" in run("compare", "run", "less").stderr
    run("fit", "table.csv", "--score", "bic-nv", "-o", "plain", "-q")
    assert "as partial ancestral graphs" in run("compare", "plain", "run").stdout
