import pytest

from drbo.claims.record import Claims, Proof, Stored


@pytest.mark.parametrize(("score", "gap"), [(-7.0, 0.0), (-7.0 - 1e-12, 0.0), (-7.5, 0.5), (-6.9, 0.0)])
def test_the_gap_is_what_a_score_may_lie_below_the_best(score, gap):
    assert Proof(upper_bound=-7.0, tolerance=1e-9, valid_for="all DAGs").gap(score) == gap


def test_nothing_is_claimed_by_default():
    claims = Claims()
    assert (claims.margins, claims.posterior, claims.classes, claims.over) == (None, None, (), "")


def test_shapes_come_from_the_sizes_of_a_result():
    sizes = {"d": 3, "t": 7}
    assert [Stored(letters, "<f8").shape(sizes) for letters in ("dd", "d", "t")] == [(3, 3), (3,), (7,)]
