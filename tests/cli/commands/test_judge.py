import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """A table to learn from and new rows, of a graph of 6 nodes."""
    dag = np.triu(np.random.default_rng(0).random((6, 6)) < 0.5, 1)
    mix = np.linalg.inv(np.eye(6) - 0.8 * dag)
    paths = []
    for seed, name in enumerate(("seen.csv", "new.csv")):
        rows = np.random.default_rng(seed).normal(size=(300, 6)) @ mix
        pd.DataFrame(rows, columns=list("abcdef")).to_csv(tmp_path / name, index=False)
        paths.append(tmp_path / name)
    return paths[0], paths[1]


def test_new_rows_judge_a_run(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    seen, new = tables
    assert run("fit", str(seen), "--score", "bic-nv", "-o", str(tmp_path / "run"), "-q").exit_code == 0
    done = run("judge", str(new), str(tmp_path / "run"))
    assert done.exit_code == 0, done.stderr
    assert "judged on 300 rows with score bic-nv" in done.stdout
    assert "split" not in done.stderr


def test_rows_of_the_run_are_split(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    seen, _ = tables
    run("fit", str(seen), "--score", "bic-nv", "-o", str(tmp_path / "run"), "-q")
    done = run("judge", str(seen), str(tmp_path / "run"), "--json", "--no-path")
    assert done.exit_code == 0, done.stderr
    assert "so they are split: a new graph is learned from 150 rows" in done.stderr
    content = json.loads(done.stdout)
    assert content["n_rows"] == 150
    assert content["falsified"] is False
    as_is = run("judge", str(seen), str(tmp_path / "run"), "--as-is", "--no-path")
    assert "everything below is too favourable" in as_is.stderr
    assert "judged on 300 rows" in as_is.stdout


def test_rows_with_missing_values_are_recognised(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    seen, _ = tables
    frame = pd.read_csv(seen)
    frame.loc[::20, "b"] = np.nan
    frame.to_csv(seen, index=False)
    for policy in ("em", "drop"):
        folder = tmp_path / policy
        run("fit", str(seen), "--score", "bic-nv", "--missing", policy, "-o", str(folder), "-q")
        done = run("judge", str(seen), str(folder), "--missing", "drop", "--no-path")
        assert done.exit_code == 0, done.stderr
        assert "they are split" in done.stderr
        effects = run("effects", str(folder), str(seen), "--from", "a", "--to", "b", "--missing", "drop")
        assert "conditional on this graph" in effects.stdout


def test_a_graph_file(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    _, new = tables
    graph = tmp_path / "graph.csv"
    graph.write_text("source,target\na,b\nb,c\n")
    done = run("judge", str(new), str(graph), "--score", "bge", "--score-option", "penalty=2", "--no-path")
    assert done.exit_code == 0, done.stderr
    assert "with score bge" in done.stdout
    assert "make sure that it was not these" in done.stderr


def test_bad_input(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    _, new = tables
    assert run("judge", str(new), str(tmp_path / "nothing")).exit_code == 2
    (tmp_path / "graph.csv").write_text("source,target\na,zz\n")
    assert run("judge", str(new), str(tmp_path / "graph.csv")).exit_code == 2
    (tmp_path / "graph.csv").write_text("source,target\na,b\n")
    assert run("judge", str(new), str(tmp_path / "graph.csv"), "--missing", "em").exit_code == 2
    frame = pd.read_csv(new)
    frame.loc[3, "a"] = np.nan
    frame.to_csv(new, index=False)
    assert run("judge", str(new), str(tmp_path / "graph.csv")).exit_code == 2
    done = run("judge", str(new), str(tmp_path / "graph.csv"), "--missing", "drop", "--no-path")
    assert done.exit_code == 0, done.stderr
    assert "dropped 1 of 300 rows" in done.stderr


OWN = """
open("sprung", "w").close()
class Fewest:
    def __init__(self, table): pass
    def local_one(self, node, parents): return -0.1 * len(parents) + (0.5 if node - 1 in parents else 0.0)
"""


def test_no_code_is_loaded_because_a_result_names_it(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    seen, new = tables
    folder, fast = tmp_path / "run", ("--max-evals", "20", "--set", "batch_size=4", "-q")
    Path("judged_score.py").write_text(OWN)
    own = ("--score", "judged_score:Fewest")
    assert run("fit", str(seen), *own, "-o", str(folder), *fast).exit_code == 0
    Path("sprung").unlink()
    for table in (seen, new):
        refused = run("judge", str(table), str(folder), "--no-path")
        assert refused.exit_code == 2, refused.output
        assert "names the score 'Fewest', but drbo does not load code that only a file names" in refused.stderr
    assert run("judge", str(new), str(folder), *own, "--no-path").exit_code == 0
    assert run("judge", str(new), str(folder), "--score", "bic-nv", "--no-path").exit_code == 0
    learned_again = run("judge", str(seen), str(folder), *own, "--no-path")
    assert learned_again.exit_code == 0, learned_again.stderr
    assert "they are split" in learned_again.stderr
    other = run("judge", str(seen), str(folder), "--score", "bic-nv", "--no-path")
    assert (other.exit_code, "names the score 'Fewest', but 'bic-nv' was given" in other.stderr) == (2, True)


def test_a_forged_result_loads_nothing(run: Run, tables: tuple[Path, Path], tmp_path: Path) -> None:
    seen, new = tables
    assert run("fit", str(seen), "--score", "bic-nv", "-o", str(tmp_path / "run"), "-q").exit_code == 0
    Path("forged_score.py").write_text(OWN)
    path = tmp_path / "run" / "result.json"
    path.write_text(path.read_text().replace('"bic-nv"', '"forged_score:Fewest"'))
    for table in (seen, new):
        for words in (("judge", str(table), str(tmp_path / "run")), ("report", str(tmp_path / "run"))):
            assert "Traceback" not in run(*words).output
    refused = run("judge", str(new), str(tmp_path / "run"))
    assert "add --score forged_score:Fewest" in refused.stderr
    effects = ("effects", str(tmp_path / "run"), str(new), "--from", "a", "--to", "b", "--bootstrap", "2")
    assert run(*effects).exit_code == 2
    assert not Path("sprung").exists()
