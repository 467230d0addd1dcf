import numpy as np
import pytest

from benchmarks.studies.series import CELLS, NULLS, counted, drawn, frame_of, method_of, run


def test_tables_follow_from_their_edges():
    """A regression on the true parents leaves residuals that no other column of the past explains."""
    table = drawn("2000 rows", 3)
    x, edges = table.units[0], table.edges
    past = np.hstack([x[2 - lag : len(x) - lag] for lag in range(3)])
    for j in range(x.shape[1]):
        parents = np.flatnonzero(np.concatenate(list(edges[:, :, j])))
        rest = past[:, j] - past[:, parents] @ np.linalg.lstsq(past[:, parents], past[:, j], rcond=None)[0]
        others = np.setdiff1d(np.arange(x.shape[1], past.shape[1]), parents)
        assert max(abs(np.corrcoef(rest, past[:, k])[0, 1]) for k in others) < 0.1


@pytest.mark.parametrize("what", NULLS)
def test_nulls_have_no_edges_but_those_of_columns_on_themselves(what):
    edges = drawn(f"null {what}", 0).edges
    assert not edges[0].any()
    assert (edges[1] == np.eye(8, dtype=bool)).all()


def test_units_have_means_of_their_own_and_the_rest_is_alike():
    table = drawn("panel 20 x 50", 0)
    frame = frame_of(table)
    assert frame.groupby("unit").size().tolist() == [50] * 20
    assert frame.groupby("unit").c0.mean().std() > frame.groupby("unit").c0.std().mean() / 3
    assert "unit" not in frame_of(drawn("late", 0))
    assert drawn("late", 0).edges[3].sum() == 1
    assert drawn("hidden", 1).units[0].shape[1] == CELLS["hidden"].columns


def test_effects_on_themselves_are_not_counted():
    truth = np.zeros((3, 3, 3), dtype=bool)
    truth[1] = np.eye(3)
    truth[2, 0, 1] = truth[0, 1, 2] = True
    seen = truth[:2].copy()
    seen[1, 2, 0] = True
    row = counted(seen, seen[0], truth)
    assert (row["lagged_found"], row["lagged_true"], row["lagged_right"]) == (1, 1, 0)
    assert (row["links_found"], row["links_right"], row["arrows_right"]) == (1, 1, 1)


def test_rows():
    (row,) = run(cells=("null step",), seeds=range(1), methods=("drbo",))
    assert row["lagged_true"] == 0
    assert row["supported_lagged"] == 0
    assert method_of("PCMCI+ 0.05") is not None
