import numpy as np
import pytest

from benchmarks.intervention_tables import CONTROL, CONTROL_ROWS, EXPERIMENTS, MOST_PARENTS, ROWS, simulated
from drbo.graph.dag import is_acyclic


@pytest.mark.parametrize("kind", ["hard", "shift", "nothing", "bent shift", "categories"])
def test_a_table_has_its_experiments_and_its_graph(kind):
    frame, dag, changed = simulated(kind, 3)
    assert is_acyclic(dag)
    assert frame["experiment"].value_counts().to_dict() == {
        CONTROL: CONTROL_ROWS,
        **{f"e{e:02d}": ROWS for e in range(1, EXPERIMENTS + 1)},
    }
    assert set(changed.sum(axis=1)) <= ({0} if kind == "nothing" else {1, 2})
    assert frame.equals(simulated(kind, 3)[0])
    if kind == "categories":
        assert dag.sum(axis=0).max() <= MOST_PARENTS
        assert set(frame["x0"]) <= {"a", "b", "c"}
    else:
        assert np.isfinite(frame.drop(columns="experiment").to_numpy()).all()


def test_a_shift_moves_the_intercept_of_its_target():
    frame, dag, changed = simulated("shift", 100)
    node = int(np.argmax(changed[0]))
    parents, intercepts = np.flatnonzero(dag[:, node]), []
    for label in (CONTROL, "e01"):
        values = frame[frame["experiment"] == label].drop(columns="experiment").to_numpy()
        design = np.column_stack([np.ones(len(values)), values[:, parents]])
        intercepts.append(np.linalg.lstsq(design, values[:, node], rcond=None)[0][0])
    assert abs(intercepts[1] - intercepts[0]) > 0.5
