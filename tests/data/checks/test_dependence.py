import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.data.checks import dependence
from drbo.data.checks.dependence import find_dependent, find_relabelled, rank_is_telling
from drbo.data.statistics import blocks
from drbo.data.statistics.statistics import Statistics

RNG = np.random.default_rng(0)
A, B, C = RNG.normal(size=(3, 30))


def table_of(**columns: np.ndarray) -> Statistics:
    return Statistics.from_array(np.column_stack(list(columns.values())), list(columns))


def grouped(**columns: list[float]) -> Statistics:
    """Columns with an upper-case name are categorical."""
    values = np.column_stack(list(columns.values())).astype(float)
    kinds = tuple("categorical" if name.isupper() else "numeric" for name in columns)
    levels = tuple(("p", "q", "r") if name.isupper() else None for name in columns)
    return Statistics(values, tuple(columns), kinds, levels)  # type: ignore[arg-type]


def test_independent_columns_are_kept() -> None:
    assert find_dependent(table_of(a=A, b=B, c=C)) == {}


def test_nearly_collinear_columns_are_kept() -> None:
    assert find_dependent(table_of(a=A, b=B, c=A + B + 1e-6 * C)) == {}


@pytest.mark.parametrize(
    ("column", "phrase"),
    [
        (A, "is a copy of column 'a'"),
        (2.54 * A, "is a linear function of column 'a' (2.54 * 'a')"),
        (1.8 * A + 32, "is a linear function of column 'a' (1.8 * 'a' + 32)"),
        (5 - A, "is a linear function of column 'a' (-1 * 'a' + 5)"),
        (3 * A - 7, "is a linear function of column 'a' (3 * 'a' - 7)"),
        (A - 2 * B + 4, "is an exact linear combination of 'a', 'b'"),
    ],
)
def test_the_phrase_names_what_it_depends_on(column: np.ndarray, phrase: str) -> None:
    assert find_dependent(table_of(a=A, b=B, z=column)) == {2: phrase}


def test_only_the_columns_of_the_combination_are_named() -> None:
    table = table_of(a=A, b=B, c=C, d=RNG.normal(size=30), e=A + C)
    assert find_dependent(table) == {4: "is an exact linear combination of 'a', 'c'"}


def test_long_combinations_are_cut() -> None:
    parts = RNG.normal(size=(30, 8))
    table = Statistics.from_array(np.column_stack([parts, parts.sum(axis=1)]))
    named = "'x0', 'x1', 'x2', 'x3', 'x4' and 3 more"
    assert find_dependent(table) == {8: f"is an exact linear combination of {named}"}


def test_several_dependencies_at_once() -> None:
    table = table_of(a=A, b=B, c=A + B, d=A - B, e=C, f=2 * C)
    assert sorted(find_dependent(table)) == [2, 3, 5]


def test_a_weak_direction_is_not_lost() -> None:
    """b differs from a by 1e-9 c alone: pivoting sees it only after a and c."""
    unit = [column / np.linalg.norm(column - column.mean()) for column in (A, C)]
    table = table_of(a=unit[0], b=unit[0] + 1e-9 * unit[1], c=unit[1])
    assert list(find_dependent(table)) == [1]


@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_units_do_not_matter(scale: float) -> None:
    assert list(find_dependent(table_of(a=A * scale, b=B, c=A * 3))) == [2]
    assert find_dependent(table_of(a=A * scale, b=B, c=C)) == {}


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), order=st.permutations(range(6)))
def test_order_of_rows_and_columns_does_not_matter(seed: int, order: list[int]) -> None:
    rng = np.random.default_rng(seed)
    free = rng.normal(size=(12, 3))
    mixed = free @ rng.normal(size=(3, 3))
    names = np.array(["f", "b", "e", "a", "d", "c"])
    values = np.column_stack([free, mixed])
    plain = find_dependent(Statistics.from_array(values, names.tolist()))
    moved_names = names[order].tolist()
    moved = find_dependent(Statistics.from_array(values[rng.permutation(12)][:, order], moved_names))
    assert {names[j]: phrase for j, phrase in plain.items()} == {moved_names[j]: phrase for j, phrase in moved.items()}
    assert sorted(names[list(plain)]) == ["d", "e", "f"]  # any three columns span the rest: the first by name stay


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 5), count=st.integers(2, 6))
def test_the_number_of_dependent_columns_is_the_missing_rank(seed: int, rank: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(20, rank)) @ rng.normal(size=(rank, count))
    centred = values - values.mean(axis=0)
    assert len(find_dependent(Statistics.from_array(values))) == count - np.linalg.matrix_rank(centred, tol=1e-8)


def test_few_rows_are_only_compared_in_pairs() -> None:
    values = RNG.normal(size=(4, 5))
    assert not rank_is_telling(Statistics.from_array(values))
    assert find_dependent(Statistics.from_array(values)) == {}
    copied = np.column_stack([values, -2 * values[:, 1] + 1])
    assert find_dependent(Statistics.from_array(copied)) == {5: "is a linear function of column 'x1' (-2 * 'x1' + 1)"}


def test_just_enough_rows_for_the_rank() -> None:
    values = RNG.normal(size=(5, 4))
    assert rank_is_telling(Statistics.from_array(values))
    assert find_dependent(Statistics.from_array(values)) == {}
    values[:, 3] = values[:, :3].sum(axis=1)
    assert list(find_dependent(Statistics.from_array(values))) == [3]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (grouped(A=[0, 1, 2, 0], B=[0, 1, 1, 0]), {}),
        (grouped(A=[0, 1, 0, 0], b=[3.5, -1, 3.5, 3.5]), {1: "divides the rows into the same groups as column 'A'"}),
        (grouped(a=[1, 2, 4, 8], b=[1, 3, 9, 7], C=[0, 1, 1, 0]), {}),
        (grouped(A=[0, 1, 2, 0], B=[0, 1, 2, 0]), {}),
    ],
    ids=["coarser", "numbers and groups", "numbers in another order", "relabelled"],
)
def test_groups(table: Statistics, expected: dict[int, str]) -> None:
    assert find_dependent(table) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (grouped(A=[0, 1, 2, 0], B=[2, 0, 1, 2]), {1: "divides the rows into the same groups as column 'A'"}),
        (grouped(A=[0, 1, 2, 0], B=[0, 1, 1, 0]), {}),
        (grouped(A=[0, 1, 0, 0], b=[3.5, -1, 3.5, 3.5]), {}),
        (grouped(B=[0, 1, 2, 0], A=[0, 1, 2, 0]), {0: "divides the rows into the same groups as column 'A'"}),
    ],
    ids=["relabelled", "coarser", "numbers and groups", "first by name stays"],
)
def test_relabelled_groups(table: Statistics, expected: dict[int, str]) -> None:
    assert find_relabelled(table) == expected


@pytest.mark.parametrize("kind", ["regular", "copy", "units", "combination", "near"])
@pytest.mark.parametrize("size", [1.0, 1e120, 1e-120])
def test_a_large_table_is_judged_like_a_small_one(kind: str, size: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 5)) * size
    last = {"copy": values[:, 0], "units": 3 * values[:, 1] + size, "combination": values[:, :3].sum(axis=1)}
    values[:, 4] = last.get(kind, values[:, 4])
    if kind == "near":
        values[:, 4] = values[:, 0] + 1e-7 * values[:, 4]
    expected = find_dependent(Statistics.from_array(values))
    assert bool(expected) == (kind not in ("regular", "near"))
    monkeypatch.setattr(blocks, "LARGE_CELLS", 100)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 13)
    assert find_dependent(Statistics.from_array(values)) == expected


def test_regular_columns_need_no_factorisation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "_combinations", None)  # a call would fail
    rng = np.random.default_rng(1)
    assert find_dependent(Statistics.from_array(rng.normal(size=(60, 5)))) == {}


def test_columns_that_are_nearly_constant_are_left_to_the_factorisation() -> None:
    rng = np.random.default_rng(1)
    values = 1e9 + rng.normal(size=(60, 3))
    values[:, 2] = 2 * values[:, 0] - values[:, 1]
    assert list(find_dependent(Statistics.from_array(values))) in ([2], [])  # whichever: digits are few, nothing breaks
    assert find_dependent(Statistics.from_array(values[:, :2])) == {}
