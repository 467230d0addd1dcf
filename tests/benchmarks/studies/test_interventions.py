import numpy as np
import pytest

from benchmarks.gran_dag import Unavailable
from benchmarks.studies import interventions
from benchmarks.studies.interventions import (
    CONDITIONS,
    available,
    sachs_conditions,
    simulated,
    simulated_tables,
    target_counts,
)


@pytest.mark.parametrize("kind", ["hard", "shift", "coefficients", "nothing"])
def test_simulated_tables_change_what_they_say(kind):
    frame, dag, changed = simulated(kind, seed=100)
    assert frame["experiment"].value_counts().tolist() == [500] + [100] * 10
    assert changed.any() == (kind != "nothing")
    node = int(np.argmax(changed[0])) if kind == "shift" else None
    if node is not None:
        parents = np.flatnonzero(dag[:, node])
        rest = []
        for label in ("observational", "e01"):
            values = frame[frame["experiment"] == label].drop(columns="experiment").to_numpy()
            design = np.column_stack([np.ones(len(values)), values[:, parents]])
            rest.append(np.linalg.lstsq(design, values[:, node], rcond=None)[0][0])
        assert abs(rest[1] - rest[0]) > 0.5


def test_targets_are_counted():
    found, true = [("a", "x"), ("b", "y")], {("b", "y"), ("c", "z")}
    assert target_counts(found, true)["targets_right"] == 1
    assert target_counts([], true)["right_of_first_30"] == 0


def test_a_row_says_how_far_the_graph_is(monkeypatch):
    monkeypatch.setattr(interventions, "D", 8)
    monkeypatch.setattr(interventions, "EXPERIMENTS", 4)
    assert "unknown" in available(("unknown",))
    row = next(iter(simulated_tables(seeds=[100], methods=("unknown",), kinds=("shift",))))
    assert row["targets_right"] >= 0.9 * row["targets_true"]
    assert row["shd"] <= 4


def test_conditions_of_the_proteins(tmp_path):
    assert sum(size for _, size, _ in CONDITIONS) == 7466
    with pytest.raises(Unavailable, match="--file with the wheel"):
        sachs_conditions(tmp_path / "cdt.whl")
