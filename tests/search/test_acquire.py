import numpy as np
import pytest
import torch

from drbo.data.table import Table
from drbo.scores.base import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search import acquire
from drbo.search.acquire import choose, drawn_scores, new_dags, rank_draws, row_scores
from drbo.search.evaluate import Evaluator
from drbo.search.history import History
from drbo.search.space import FullRankSpace, LowRankSpace
from drbo.search.surrogate import DropoutSurrogate
from drbo.settings import Settings

D, C = 5, 40


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


class Scene:
    """A search after its first batch: everything that the acquisition is handed."""

    def __init__(self, rng, score=BicNV, low_rank=False, **changes):
        self.settings = Settings(**{"hidden": 8, "n_draws": 4, "batch_size": 6, **changes})
        self.score = score(Table.from_array(rng.normal(size=(60, D)) @ (np.eye(D) + np.triu(np.ones((D, D)), 1))))
        self.space = LowRankSpace(D, 3) if low_rank else FullRankSpace(D)
        self.evaluator = Evaluator(self.score, self.settings)
        self.surrogate = DropoutSurrogate(D, self.settings, _generator(1))
        first = self.space.decode(self.vectors(rng, 16)).numpy()
        batch = self.evaluator.evaluate(first)
        history = History(D, torch.device("cpu"))
        history.append(batch.dags, batch.local)
        self.surrogate.update(history, len(batch), _generator(2))

    def vectors(self, rng, n=C):
        return torch.as_tensor(rng.uniform(-1, 1, (n, self.space.dim)), dtype=torch.float32)

    def choose(self, vectors, seed=3):
        return choose(vectors, self.space, self.surrogate, self.evaluator, self.settings, _generator(seed))


@pytest.mark.parametrize("score", [BicNV, BicEV])
@pytest.mark.parametrize("low_rank", [False, True])
def test_drawn_scores_are_drawn_local_values_combined_with_true_prices(score, low_rank, rng):
    """By hand: one candidate and one draw at a time, in double precision."""
    scene = Scene(rng, score, low_rank, dropout=0.4)
    vectors = scene.vectors(rng)
    found = drawn_scores(vectors, scene.space, scene.surrogate, scene.score, 4, _generator(5))
    draws, nodes = scene.surrogate.draw(4, _generator(5)), torch.arange(D)
    assert found.shape == (4, C)
    for c, dag in enumerate(scene.space.decode(vectors).numpy()):
        parents = torch.as_tensor(dag.T)[:, None, :]
        local = scene.surrogate.to_local(nodes, draws.local(nodes, parents))[:, 0].T.double()
        price = torch.as_tensor(scene.score.family_price(Families.from_dags(dag[None])))
        assert found[:, c].numpy() == pytest.approx(scene.score.combine(local, price).numpy(), rel=1e-4)


def test_without_dropout_every_way_to_draw_gives_the_same(rng):
    scene = Scene(rng, dropout=0.0, masks="row")
    vectors = scene.vectors(rng)
    drawn = drawn_scores(vectors, scene.space, scene.surrogate, scene.score, 3, _generator(5))
    rows = row_scores(vectors, scene.space, scene.surrogate, scene.score, _generator(6))
    for draw in drawn:
        assert draw.numpy() == pytest.approx(rows.numpy(), rel=1e-4)


def test_a_mask_per_row_differs_between_equal_candidates(rng):
    scene = Scene(rng, dropout=0.5, masks="row", batch_norm="candidates")
    same = scene.vectors(rng, 1).repeat(C, 1)
    rows = row_scores(same, scene.space, scene.surrogate, scene.score, _generator())
    shared = drawn_scores(same, scene.space, scene.surrogate, scene.score, 2, _generator())
    assert len(set(rows.tolist())) > C // 2
    assert all(len(set(draw.tolist())) == 1 for draw in shared)


@pytest.mark.parametrize("masks", ["row", "shared"])
def test_pieces_of_any_size_give_the_same_scores(masks, rng, monkeypatch):
    scene = Scene(rng, masks=masks, batch_norm="candidates" if masks == "row" else "training", dropout=0.3)
    vectors = scene.vectors(rng)

    def scores():
        if masks == "row":
            return row_scores(vectors, scene.space, scene.surrogate, scene.score, _generator(5))
        return drawn_scores(vectors, scene.space, scene.surrogate, scene.score, 3, _generator(5))

    whole = scores()
    monkeypatch.setattr(scene.surrogate, "node_chunks", lambda n, n_values: torch.arange(D).split(2))
    assert torch.equal(scores(), whole)


def test_ucb_ranks_by_mean_and_spread(rng):
    scores = torch.as_tensor(rng.normal(size=(6, 9)))
    for beta in (0.0, 1.5):
        settings = Settings(acquisition="ucb", ucb_beta=beta)
        bound = scores.numpy().mean(axis=0) + beta * scores.numpy().std(axis=0)
        expected = np.argsort(-bound)
        assert rank_draws(scores, 4, settings).tolist() == expected[:4].tolist()
        assert rank_draws(scores, 100, settings).tolist() == expected.tolist()


def test_draws_name_their_favourites_in_turn():
    scores = torch.tensor([[3.0, 1.0, 0.0, 4.0, 5.0], [4.0, 6.0, 0.0, 1.0, 5.0]])
    # First choices 4 and 1, second choices 3 and 4 (named already), third choices 0 and 0.
    assert rank_draws(scores, 3, Settings()).tolist() == [4, 1, 3]
    assert rank_draws(scores, 4, Settings()).tolist() == [4, 1, 3, 0]
    assert sorted(rank_draws(scores, 100, Settings()).tolist()) == [0, 1, 2, 3, 4]


def test_new_dags_are_unknown_and_named_once(rng):
    scene = Scene(rng)
    vectors = scene.vectors(rng, 200)
    dags = scene.space.decode(vectors).numpy()
    scene.evaluator.evaluate(dags[:30])
    twice = torch.cat([vectors, vectors[50:]])
    found = new_dags(twice, scene.space, scene.evaluator).numpy()
    known = set(scene.evaluator.known()[0].keys())
    seen = set()
    for dag, new in zip(scene.space.decode(twice).numpy(), found, strict=True):
        complete = set(Families.from_dags(dag[None]).keys()) <= known
        assert new == (not complete and dag.tobytes() not in seen)
        seen.add(dag.tobytes())
    assert found.any()
    assert not found[:30].any()


def test_the_papers_rule_is_the_top_of_one_draw(rng):
    scene = Scene(rng, masks="row", batch_norm="candidates", skip_known=False)
    vectors = scene.vectors(rng)
    scores = row_scores(vectors, scene.space, scene.surrogate, scene.score, _generator(3))
    best = np.argsort(-scores.numpy())[: scene.settings.batch_size]
    assert torch.equal(scene.choose(vectors), vectors[best])


@pytest.mark.parametrize("acquisition", ["thompson", "ucb"])
@pytest.mark.parametrize("masks", ["row", "shared"])
def test_what_is_chosen_is_new_and_within_the_batch(acquisition, masks, rng):
    scene = Scene(rng, acquisition=acquisition, masks=masks)
    vectors = torch.cat([scene.vectors(rng), scene.vectors(rng, 3).repeat(10, 1)])
    chosen = scene.choose(vectors)
    assert 0 < len(chosen) <= scene.settings.batch_size
    assert new_dags(chosen, scene.space, scene.evaluator).all()
    rows = {tuple(row) for row in vectors.tolist()}
    assert all(tuple(row) in rows for row in chosen.tolist())


@pytest.mark.parametrize("skip_known", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_fewer_candidates_than_the_batch(skip_known, n, rng):
    scene = Scene(rng, skip_known=skip_known, batch_size=50)
    vectors = scene.vectors(rng, n)
    chosen = scene.choose(vectors)
    expected = int(new_dags(vectors, scene.space, scene.evaluator).sum()) if skip_known else n
    assert len(chosen) == expected


def test_nothing_is_chosen_when_everything_is_known(rng):
    scene = Scene(rng)
    vectors = scene.vectors(rng)
    scene.evaluator.evaluate(scene.space.decode(vectors).numpy())
    assert scene.choose(vectors).shape == (0, scene.space.dim)


def test_the_shortlist_is_a_multiple_of_the_batch(rng):
    """With skip_known, what is known among the best is replaced by the next best."""
    scene = Scene(rng, masks="row", batch_size=4)
    vectors = scene.vectors(rng)
    scores = row_scores(vectors, scene.space, scene.surrogate, scene.score, _generator(3))
    order = np.argsort(-scores.numpy())
    scene.evaluator.evaluate(scene.space.decode(vectors[order[:2]]).numpy())
    shortlist = order[: acquire.SHORTLIST * 4]
    new = new_dags(vectors[shortlist], scene.space, scene.evaluator).numpy()
    assert torch.equal(scene.choose(vectors), vectors[shortlist[new][:4]])
