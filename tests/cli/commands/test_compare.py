"""drbo compare against figures worked out by hand."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

Fast = tuple[str, ...]
Run = Callable[..., Result]

TRUE = "source,target\na,b\nb,c\nc,d\nd,e\n"
LEARNED = "from,to\na,b\nc,b\na,e\nd,e\n"  # b -> c reversed, c -> d missing, a -> e extra


@pytest.fixture
def files(folder: Path) -> tuple[str, str]:
    Path("learned.csv").write_text(LEARNED)
    Path("true.csv").write_text(TRUE)
    return "learned.csv", "true.csv"


def test_figures_by_hand(run: Run, files: tuple[str, str]) -> None:
    content = json.loads(run("compare", *files, "--json").stdout)
    assert sorted(content["correct"]) == [["a", "b"], ["d", "e"]]
    assert content["reversed"] == [["c", "b"]]
    assert content["missing"] == [["c", "d"]]
    assert content["extra"] == [["a", "e"]]
    assert content["undirected"] == []
    assert (content["shd"], content["n_learned"], content["n_true"]) == (3, 4, 4)
    assert (content["tpr"], content["fdr"], content["f1"]) == (0.5, 0.5, 0.5)
    # CPDAGs: the truth is a chain, all undirected; learned has the colliders a -> b <- c and a -> e <- d.
    assert content["shd_c"] == 5


def test_text_names_the_edges(run: Run, files: tuple[str, str]) -> None:
    done = run("compare", *files)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "4 edges in learned.csv, 4 edges in true.csv"
    assert "  reversed       1   in both, opposite direction" in lines
    assert lines[lines.index("  reversed       1   in both, opposite direction") + 1].strip() == "c -> b"
    assert any(line.split()[:2] == ["SHD", "3"] for line in lines)
    assert any(line.split()[:2] == ["SHD-C", "5"] for line in lines)
    assert not any(line.strip().startswith("undirected") for line in lines)


def test_a_graph_equals_itself(run: Run, files: tuple[str, str]) -> None:
    content = json.loads(run("compare", files[1], files[1], "--json").stdout)
    assert (content["shd"], content["shd_c"], content["sid"], content["f1"]) == (0, 0, 0, 1.0)


def test_an_edge_in_both_directions_is_undirected(run: Run, files: tuple[str, str]) -> None:
    Path("learned.csv").write_text("source,target\na,b\nb,a\nb,c\nc,d\nd,e\n")
    done = run("compare", *files)
    assert any(line.split()[:2] == ["undirected", "1"] for line in done.stdout.splitlines())
    assert "a -- b" in done.stdout


def test_a_result_is_the_class_that_it_stands_for(run: Run, chain: Path, truth: Path, fast: Fast) -> None:
    run("fit", chain, *fast, "-o", "out")
    done = run("compare", "out", truth, "--json")
    content = json.loads(done.stdout)
    assert "equivalence class" in done.stderr
    assert (content["n_undirected"], content["shd"], content["shd_c"]) == (2, 2, 0)
    as_dag = json.loads(run("compare", "out/edges.csv", truth, "--json").stdout)
    assert as_dag["n_undirected"] == 0
    run("fit", chain, *fast, "-o", "out", "--force", "--score", "bic-ev")
    done = run("compare", "out", truth, "--json")
    assert "equivalence class" not in done.stderr
    assert json.loads(done.stdout)["shd"] == 0


def test_nodes_without_edges_are_filled_in_and_named(run: Run, files: tuple[str, str]) -> None:
    Path("learned.csv").write_text("source,target\nb,c\nf,a\n")
    done = run("compare", *files, "--json")
    assert "learned.csv does not mention 'd', 'e'" in done.stderr
    assert "true.csv does not mention 'f'" in done.stderr
    content = json.loads(done.stdout)
    assert (content["shd"], content["n_missing"], content["n_extra"]) == (4, 3, 1)


def test_a_matrix_without_names_takes_those_of_the_other(run: Run, files: tuple[str, str]) -> None:
    matrix = np.zeros((5, 5))
    matrix[[0, 1, 2, 3], [1, 2, 3, 4]] = 1
    np.save("learned.npy", matrix)
    done = run("compare", "learned.npy", files[1], "--json")
    assert "no node names" in done.stderr
    assert json.loads(done.stdout)["shd"] == 0


@pytest.mark.parametrize(
    ("learned", "true", "message"),
    [
        ("x,y\n", "a,b\n", "no node in common: 'x', 'y' and 'a', 'b'"),
        ("a,b\nb,c\nc,a\n", "a,b\n", "the graph has a cycle: a -> b -> c -> a"),
        ("a,b\n", "a,b\nb,a\n", "the graph has a cycle: a -> b -> a"),
        ("a,a\nb,c\n", "a,b\n", "self-loop: a -> a"),
    ],
)
def test_graphs_that_cannot_be_compared(run: Run, learned: str, true: str, message: str) -> None:
    Path("learned.csv").write_text(f"source,target\n{learned}")
    Path("true.csv").write_text(f"source,target\n{true}")
    done = run("compare", "learned.csv", "true.csv")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_long_lists_are_cut_and_names_are_not_broken(run: Run) -> None:
    Path("true.csv").write_text("source,target\n" + "".join(f"node {j},node {j + 1}\n" for j in range(60)))
    Path("learned.csv").write_text("source,target\nnode 0,node 1\n")
    done = run("compare", "learned.csv", "true.csv")
    assert "and 19 more" in done.stdout
    assert all(len(line) <= 96 for line in done.stdout.splitlines())
    assert all(line.count("node") % 2 == 0 for line in done.stdout.splitlines() if "->" in line)


def test_a_run_equals_itself_whatever_is_open(run: Run, chain: Path, fast: Fast) -> None:
    run("fit", chain, *fast, "-o", "out")
    content = json.loads(run("compare", "out", "out", "--json").stdout)
    assert (content["shd"], content["shd_c"], content["sid"], content["n_undirected"]) == (0, 0, 0, 0)
    run("fit", chain, *fast, "-o", "fewer", "--drop", "sun")
    refused = run("compare", "out", "fewer")
    assert refused.exit_code == 2
    assert "the tables of out and fewer have different columns" in refused.stderr


def test_two_runs_side_by_side(run: Run, chain: Path, fast: Fast, truth: Path) -> None:
    run("fit", chain, *fast, "-o", "run1")
    run("fit", chain, *fast, "-o", "run2", "--score", "bic-ev")
    done = run("compare", "run1", "run2", "--report", "compare.html")
    assert done.exit_code == 0
    assert "wrote compare.html" in done.stderr
    page = Path("compare.html").read_text(encoding="utf-8")
    assert "<h1>run1 and run2 side by side</h1>" in page
    assert "direction less sure in run1" in page
    refused = run("compare", "run1", truth, "--report", "other.html")
    assert refused.exit_code == 2
    assert "--report compares two runs, but" in refused.stderr
    assert not Path("other.html").exists()
    refused = run("compare", "run1", "run2", "--report", "run1")
    assert refused.exit_code == 2
    assert "--report writes a file, but 'run1' is a folder" in refused.stderr


def test_runs_with_hidden_causes_side_by_side(run: Run, chain: Path, fast: Fast) -> None:
    run("fit", chain, *fast, "-o", "plain")
    for seed in ("0", "1"):
        run("fit", chain, "--hidden", "--seed", seed, "-o", f"hidden{seed}")
    done = run("compare", "hidden0", "hidden1", "--report", "compare.html")
    assert done.exit_code == 0, done.stderr
    assert "arrowheads" in done.stdout
    assert "hidden0 and hidden1 side by side" in Path("compare.html").read_text(encoding="utf-8")
    refused = run("compare", "hidden0", "plain", "--report", "other.html")
    assert refused.exit_code == 2
    assert "a graph with hidden causes" in refused.stderr


def test_what_a_run_was_told_counts_as_its_answer(run: Run, chain: Path, truth: Path) -> None:
    strict = ("--drop", "sun", "--score-option", "penalty=6")
    run("fit", chain, *strict, "-o", "told", "--root", "rain")
    run("fit", chain, *strict, "-o", "plain")

    def figures(*words: Path | str) -> tuple[int, ...]:
        content = json.loads(run("compare", *words, "--json").stdout)
        return tuple(content[name] for name in ("n_correct", "n_undirected", "shd", "shd_c"))

    assert figures("told", truth) == (2, 0, 0, 0)
    assert figures("plain", truth) == (0, 2, 2, 0)
    assert figures("told", "plain") == figures("plain", "told") == (0, 2, 2, 0)
