"""All claims keep the contract, and those that break it are told how."""

from dataclasses import replace

import numpy as np
import pytest

from drbo.claims.claim import Claim, Ruling, denials
from drbo.claims.registry import CLAIMS
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ContractError
from drbo.scores.linear import BicNV
from drbo.testing import check_claim

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)


@pytest.fixture
def table(rng):
    values = rng.laplace(size=(150, 3)) ** 3
    return Statistics.from_array(values.cumsum(axis=1), ["a", "b", "c"])


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
@pytest.mark.parametrize("dag", [CHAIN, np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool), np.zeros((3, 3))])
def test_the_claims_of_drbo_keep_the_contract(claim, dag, table):
    assert isinstance(check_claim(claim, table, dag, score=BicNV), Ruling)


class Doubt(Claim):
    """Denies one arrow."""

    name, title, denies = "doubt", "a doubt", ("class",)

    def run(self, context):
        return Ruling(None, denials(self, {("a", "b"): "No."}))


def test_a_claim_of_ones_own_keeps_the_contract(table):
    assert [one.sentence for one in check_claim(Doubt(), table, CHAIN).denied] == ["No."]
    assert check_claim(Doubt(), table, np.zeros((3, 3))).denied == ()  # there is no arrow to speak of


def _faulty(**changes):
    return type("Faulty", (Doubt,), changes)()


def _changed(self, context):
    context.answer.dag[0, 2] = True
    return Ruling()


def _changed_table(self, context):
    context.table.values[0, 0] += 1.0
    return Ruling()


def _unsteady(self, context):
    self.runs = getattr(self, "runs", 0) + 1
    return Ruling(None, denials(self, {("a", "b"): f"No, {self.runs} times."}))


def _denying(pair=("a", "b"), sentence="No.", skipped="", **others):
    def run(self, context):
        found = tuple(replace(one, **others) for one in denials(self, {pair: sentence}))
        return Ruling(None, found, skipped)

    return run


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": ""}, "must have a name"),
        ({"denies": ("luck",)}, "denies must be a tuple of given, randomised, experiment"),
        ({"after": ("doubt",)}, "cannot be made after itself"),
        ({"run": _changed}, "changed the answer"),
        ({"run": _changed_table}, "changed the table"),
        ({"run": _unsteady}, "says something else when it is made again"),
        ({"run": lambda self, context: None}, "must return a Ruling, got NoneType"),
        ({"run": _denying(skipped="no rows")}, "denies arrows although it was skipped"),
        ({"run": _denying(("a", "z"))}, "a -> z, which are no columns"),
        ({"run": _denying(("c", "b"))}, "c -> b, which is no arrow"),
        ({"run": _denying(grounds=("tests",))}, "denies more than it declares"),
        ({"run": _denying(sentence="")}, "without a sentence"),
    ],
)
def test_a_claim_that_breaks_the_contract_is_told_how(changes, words, table):
    with pytest.raises(ContractError, match=words):
        check_claim(_faulty(**changes), table, CHAIN)


def test_a_claim_that_fails_at_the_end_of_the_time_is_told(table):
    class Fragile(Doubt):
        def run(self, context):
            from drbo.deadline import current

            if current().over():
                raise KeyError("nothing was read")
            return Ruling()

    with pytest.raises(ContractError, match="fails when the time is over: 'nothing was read'"):
        check_claim(Fragile(), table, CHAIN)
    with pytest.raises(ContractError, match="Inquiry has no field 'speed'"):
        check_claim(Doubt(), table, CHAIN, speed=1)


def test_a_claim_that_is_too_much_is_skipped(table):
    found = check_claim(_faulty(too_much=lambda self, context: "too many columns"), table, CHAIN)
    assert (found.skipped, found.denied) == ("too many columns", ())
