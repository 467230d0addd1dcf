import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.scores.linear import BicNV
from drbo.scores.registry import score_class
from drbo.search.loop import ProposalSearch
from drbo.search.orders.search import OrderSearch
from drbo.search.strategy import choose_route, new_search
from drbo.settings import Settings


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(50, 3)))


def test_cheap_scores_climb_over_orders_unless_evaluations_are_rationed(table):
    score = BicNV(table)
    assert choose_route(score, Settings(), rationed=False)[0] == "orders"
    route, why = choose_route(score, Settings(max_evals=20), rationed=True)
    assert route == "surrogate"
    assert "limited" in why


@pytest.mark.parametrize("route", ["orders", "surrogate", "paper"])
@pytest.mark.parametrize("rationed", [True, False])
def test_a_given_route_is_taken(table, route, rationed):
    found, why = choose_route(BicNV(table), Settings(route=route), rationed)
    assert found == route
    assert "set by the settings" in why


def test_a_score_that_is_not_declared_cheap_takes_the_surrogate(table):
    route, why = choose_route(score_class("gp")(table), Settings(), rationed=False)
    assert route == "surrogate"
    assert "gp does not declare" in why


@pytest.mark.parametrize(
    ("route", "proposer"),
    [("orders", None), ("surrogate", "ClimbProposer"), ("auto", "ClimbProposer"), ("paper", "RegionProposer")],
)
def test_each_route_has_its_search(table, route, proposer):
    search = new_search(BicNV(table), Settings(route=route))
    if proposer is None:
        assert isinstance(search, OrderSearch)
    else:
        assert isinstance(search, ProposalSearch)
        assert type(search.proposer).__name__ == proposer


def test_without_torch_the_paper_says_what_to_install(table, monkeypatch):
    monkeypatch.setattr("drbo.machine.torch_device.has_torch", lambda: False)
    for route in ("orders", "surrogate"):
        new_search(BicNV(table), Settings(route=route))
    with pytest.raises(SettingsError, match=r"route paper needs torch.*pip install 'drbo\[torch\]'"):
        new_search(BicNV(table), Settings(route="paper"))


@pytest.mark.parametrize("route", ["orders", "surrogate", "paper"])
def test_a_search_starts_from_the_given_graph(rng, route):
    """The chain is the best graph: a search that starts there ends there."""
    values = rng.normal(size=(300, 4))
    for j in range(1, 4):
        values[:, j] += 2 * values[:, j - 1]
    score, chain = BicNV(Statistics.from_array(values)), np.eye(4, k=1, dtype=bool)
    settings = Settings(route=route, max_evals=1).with_(n_candidates=20, batch_size=2)
    search = new_search(score, settings, start=chain)
    reached = search.evaluator.evaluate(chain[None]).scores[0]
    assert search.run().best.scores[0] >= reached
