"""Directions of edges: what supports them, on which ground, and what is said where nothing does."""

import numpy as np
import pytest

from drbo.claims.checks.noise_check import against_class, noise_checks
from drbo.claims.denial import ClaimRecord, Denial
from drbo.claims.directions import NEITHER_FITS, edge_directions
from drbo.claims.record import Margins
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.independence.residual_tests import TableTests
from drbo.knowledge import Knowledge
from tests.results import shares

#: a -> c <- b -> d: the collider is compelled, b -> d is not.
COLLIDER = np.array([[0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]], dtype=bool)
EDGES = [("a", "c"), ("b", "c"), ("b", "d")]
MADE = [ClaimRecord(name="colliders", status="ran", grounds=("class",))]


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(3)
    a, b, e, f = rng.normal(size=(4, 400))
    return Statistics.from_array(np.column_stack([a, b, a + b + e, b + f]), list("abcd"))


def _margins(value, exact=True):
    return Margins(np.where(COLLIDER, 50.0, np.nan), np.where(COLLIDER, value, np.nan), exact)


def _directions(table, dag=COLLIDER, seed=0, constraints=None, *, families=False, **options):
    checks = noise_checks(TableTests(table, seed), dag)
    options = {
        "score_equivalent": True,
        "checks": checks,
        "denials": against_class(checks, families=families),
        "made": MADE,
        **options,
    }
    constraints = constraints or Constraints.of(Knowledge(), table.names)
    return {(found.cause, found.effect): found for found in edge_directions(dag, constraints, **options)}


def _claims(found):
    return {edge: (one.direction, one.ground) for edge, one in found.items()}


def test_the_class_supports_where_claims_were_made(linear):
    supported, weak = ("supported", "class"), ("assumed", "")
    assert _claims(_directions(linear)) == {EDGES[0]: supported, EDGES[1]: supported, EDGES[2]: ("open", "")}
    assert _claims(_directions(linear, made=()))[EDGES[0]] == weak


def test_resamples_must_confirm_the_class(linear):
    graphs = [COLLIDER] * 8 + [COLLIDER.T] * 2
    found = _directions(linear, confidence=shares(graphs, "abcd"))
    assert _claims(found)[EDGES[0]] == ("supported", "class")
    found = _directions(linear, confidence=shares(graphs[1:], "abcd"))
    assert _claims(found)[EDGES[0]] == ("assumed", "")
    assert "too few resamples" in found[EDGES[0]].sentence
    found = _directions(linear, confidence=shares([COLLIDER.T], "abcd", kind="seeds"))
    assert _claims(found)[EDGES[0]] == ("supported", "class")  # other seeds are no other rows


@pytest.mark.parametrize(("name", "direction"), [("stability", "supported"), ("hidden causes", "assumed")])
def test_resamples_replace_halves_that_were_left_out_and_nothing_else(linear, name, direction):
    made = [ClaimRecord(name=name, status="skipped", why="only sums are known", grounds=("class",))]
    assert _directions(linear, made=made)[EDGES[0]].direction == "assumed"
    resampled = _directions(linear, made=made, confidence=shares([COLLIDER] * 9, "abcd"))
    assert resampled[EDGES[0]].direction == direction


def test_linear_gaussian_noise_supports_nothing_beyond_the_class(linear):
    for seed in range(3):
        found = _directions(linear, seed=seed)
        assert not any(one.ground == "noise-check" or one.contradicted for one in found.values())


def test_a_score_that_tells_equivalent_graphs_apart_assumes(linear):
    assert _claims(_directions(linear, score_equivalent=False))[EDGES[2]] == ("assumed", "")
    tied = _margins(0.0)
    assert _claims(_directions(linear, score_equivalent=False, margins=tied))[EDGES[2]] == ("open", "")


def test_what_the_user_said_is_given(linear):
    given = ("supported", "given")
    for statement in ({"required": ["b -> d"]}, {"forbidden": ["d -> b"]}, {"tiers": [["b"], ["d"]]}, {"leaves": "d"}):
        constraints = Constraints.of(
            Knowledge.from_mapping({key: list(value) for key, value in statement.items()}), "abcd"
        )
        found = _claims(_directions(linear, constraints=constraints, made=()))
        assert found[EDGES[2]] == given
        assert found[EDGES[0]] == ("assumed", "")


def test_what_follows_from_knowledge_and_class_is_no_better_than_the_class():
    """a -> b is given, so b -> c follows: c -> b would be a collider that the class does not have."""
    rng = np.random.default_rng(0)
    a, e, f = rng.normal(size=(3, 300))
    table = Statistics.from_array(np.column_stack([a, a + e, a + e + f]), list("abc"))
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    constraints = Constraints.of(Knowledge(roots=["a"]), "abc")
    assert _claims(_directions(table, chain))[("b", "c")] == ("open", "")
    assert _claims(_directions(table, chain, constraints=constraints, made=()))[("b", "c")] == ("assumed", "")
    assert _claims(_directions(table, chain, constraints=constraints))[("b", "c")] == ("supported", "class")


def test_experiments_support_where_claims_were_made(linear):
    shown = {EDGES[2]: "Experiment 'hot' changes it."}
    assert _claims(_directions(linear, experiments=shown, made=()))[EDGES[2]][1] != "experiment"
    found = _directions(linear, experiments=shown)
    assert _claims(found)[EDGES[2]] == ("supported", "experiment")
    assert found[EDGES[2]].sentence == "Experiment 'hot' changes it."


@pytest.fixture(scope="module")
def curved():
    rng = np.random.default_rng(1)
    dose, noise = rng.uniform(-1, 1, size=1500), rng.normal(size=1500)
    return Statistics.from_array(np.column_stack([dose, np.exp(1.5 * dose) + 0.3 * noise]), ["dose", "effect"])


def test_the_noise_check_supports_and_contradicts_and_never_flips(curved):
    forward = np.array([[0, 1], [0, 0]], dtype=bool)
    right = _directions(curved, forward)["dose", "effect"]
    assert (right.direction, right.ground, right.contradicted) == ("supported", "noise-check", False)
    assert right.p_forward > 0.9
    assert "are independent of 'dose'" in right.sentence
    wrong = _directions(curved, forward.T, score_equivalent=False)["effect", "dose"]
    assert (wrong.direction, wrong.ground, wrong.contradicted) == ("assumed", "", True)
    assert wrong.p_forward < 0.1
    assert "contradicts this arrow: dose -> effect fits" in wrong.sentence


def test_an_experiment_supports_no_arrow_whose_residuals_prefer_the_reverse(curved):
    backward, known = np.array([[0, 0], [1, 0]], dtype=bool), np.array([[0, 0], [1, 0]], dtype=bool)
    shown = {("effect", "dose"): "Experiment 'hot' changes it."}
    found = _directions(curved, backward, experiments=shown, known_class=known)["effect", "dose"]
    assert (found.direction, found.ground, found.contradicted) == ("assumed", "", True)
    assert found.p_forward < 0.1


def test_an_open_edge_has_no_probability(curved):
    backward = np.array([[0, 0], [1, 0]], dtype=bool)
    found = _directions(curved, backward)["effect", "dose"]
    assert (found.direction, found.contradicted, found.p_forward) == ("open", True, None)
    assert found.check.probability < 0.1
    assert found.sentence == "Both directions score the same. The noise check prefers dose -> effect."


def test_a_given_arrow_can_be_contradicted(curved):
    backward = np.array([[0, 0], [1, 0]], dtype=bool)
    constraints = Constraints.of(Knowledge(required=["effect -> dose"]), ["dose", "effect"])
    found = _directions(curved, backward, constraints=constraints)["effect", "dose"]
    assert (found.direction, found.ground, found.contradicted) == ("supported", "given", True)
    assert found.sentence.startswith("This direction follows from what was stated. The noise check contradicts")


def test_families_of_nonlinear_scores_must_pass_their_check():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 600))
    c = a + b + (1 + np.abs(a)) * rng.normal(size=600)  # the spread of the noise depends on a cause
    table = Statistics.from_array(np.column_stack([a, b, c]), list("abc"))
    dag = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert _claims(_directions(table, dag))["b", "c"] == ("supported", "class")
    checked = _directions(table, dag, families=True)
    assert checked["b", "c"].check.p_value_family < 0.05
    assert _claims(checked)["b", "c"] == ("assumed", "")


def test_where_both_directions_fail_a_sentence_says_so():
    rng = np.random.default_rng(0)
    hidden = rng.uniform(-2, 2, size=900)
    values = np.column_stack([hidden**2, np.sin(2 * hidden)]) + 0.1 * rng.normal(size=(900, 2))
    table = Statistics.from_array(values, ["a", "b"])
    found = _directions(table, np.array([[0, 1], [0, 0]], dtype=bool), score_equivalent=False)["a", "b"]
    assert found.direction == "assumed"
    assert found.sentence == f"The score prefers this direction. {NEITHER_FITS}"


def test_what_cannot_be_checked_is_assumed_with_the_reason(rng):
    table = Statistics.from_array(np.column_stack([rng.integers(2, size=200), rng.normal(size=200)]), ["sex", "weight"])
    found = _directions(table, np.array([[0, 1], [0, 0]], dtype=bool), score_equivalent=False)["sex", "weight"]
    assert (found.direction, found.check, found.p_forward) == ("assumed", None, None)
    assert "'sex' is categorical or has fewer than 8 distinct values" in found.sentence


def test_the_same_seed_gives_the_same_claims(rng):
    table = Statistics.from_array(np.round(rng.normal(size=(4000, 4)), 1), list("abcd"))
    assert _directions(table, seed=7) == _directions(table, seed=7)


@pytest.mark.parametrize("status", ["ran", "irrelevant", "skipped"])
def test_what_could_deny_an_arrow_and_was_skipped_leaves_it_unsupported(linear, status):
    made = [ClaimRecord(name="hidden causes", status=status, why="too many columns", grounds=("class",))]
    found = _directions(linear, made=made)[EDGES[0]]
    assert found.direction == ("assumed" if status == "skipped" else "supported")
    assert ("left out (hidden causes: too many columns)" in found.sentence) == (status == "skipped")


def test_a_denial_counts_against_its_grounds_alone(curved):
    arrow = np.array([[0, 1], [0, 0]], dtype=bool)
    told = {"cause": "dose", "effect": "effect", "claim": "colliders", "sentence": "No."}
    kept = _directions(curved, arrow, denials=[Denial(**told, grounds=("class",))])["dose", "effect"]
    assert (kept.direction, kept.ground) == ("supported", "noise-check")
    lost = _directions(curved, arrow, denials=[Denial(**told, grounds=("noise-check", "class"))])["dose", "effect"]
    assert (lost.direction, lost.sentence) == ("assumed", "No.")


def test_what_was_stated_needs_no_claim(linear):
    made = [ClaimRecord(name="audit", status="skipped", why="time ran out", grounds=("noise-check", "class"))]
    constraints = Constraints.of(Knowledge(required=["a -> c"]), linear.names)
    assert _directions(linear, constraints=constraints, made=made)["a", "c"].ground == "given"
