import numpy as np
import pytest
import torch

from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import SettingsError
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.paper import acquire
from drbo.search.paper.acquire import Acquisition, new_dags, rank_draws
from drbo.search.paper.history import History
from drbo.search.paper.networks import DropoutSurrogate
from drbo.search.paper.region import Candidates
from drbo.search.paper.space import FullRankSpace, LowRankSpace
from drbo.settings import Settings

pytestmark = pytest.mark.floats

D, C = 5, 40
#: Rounding of single precision in a few dozen additions, as a share of the magnitudes that are added. A score may be
#: small where they are large: it says nothing about its own rounding.
ROUNDING = 1e-5

FAST = {"masks": "shared", "batch_norm": "training", "standardize_targets": True}


def _generator(seed=0):
    return torch.Generator().manual_seed(seed)


class CountsPairs(BicNV):
    """A price that does not add up over parents."""

    def parameters(self, families):
        return families.sizes**2


class Scene:
    """A search after its first batch: everything that the acquisition is handed."""

    def __init__(self, rng, score=BicNV, low_rank=False, d=D, options=None, **changes):
        self.settings = Settings().with_(**{**FAST, "hidden": 8, "n_draws": 4, "batch_size": 6, **changes})
        values = rng.normal(size=(60, d)) @ (np.eye(d) + np.triu(np.ones((d, d)), 1))
        self.score = score(Statistics.from_array(values), **(options or {}))
        self.space = LowRankSpace(d, 3) if low_rank else FullRankSpace(d)
        self.evaluator = Evaluator(self.score, self.settings)
        self.surrogate = DropoutSurrogate(d, self.settings, _generator(1))
        first = self.space.decode(self.vectors(rng, 16)).numpy()
        batch = self.evaluator.evaluate(first)
        history = History(d, torch.device("cpu"))
        history.append(batch.dags, -batch.local)
        self.surrogate.update(history, len(batch), _generator(2))
        self.acquisition = Acquisition(self.space, self.surrogate, self.evaluator, self.settings)

    def vectors(self, rng, n=C):
        return torch.as_tensor(rng.uniform(-1, 1, (n, self.space.dim)), dtype=torch.float32)

    def choose(self, vectors, seed=3):
        return self.acquisition.choose(_candidates(vectors), _generator(seed))

    def drawn(self, vectors, n_draws, seed=5):
        return self.acquisition.drawn_scores(_candidates(vectors), n_draws, _generator(seed))

    def rows(self, vectors, seed=5):
        return self.acquisition.row_scores(_candidates(vectors), _generator(seed))

    def sizes(self, vectors):
        """The magnitudes that add up to a score of each candidate, at the largest local value of each node."""
        local = self.surrogate.scale[2:].abs().amax(0).double().numpy()  # (d,): what predictions are cut to
        dags = self.space.decode(vectors).numpy()
        price = self.score.family_price(Families.from_dags(dags)).reshape(len(dags), -1)
        return (self.score.n_rows * local + np.abs(price)).sum(axis=1)


def _candidates(vectors):
    """Vectors as candidates around the first of them."""
    n, dim = vectors.shape
    return Candidates(vectors[0], torch.arange(dim, dtype=torch.int32).repeat(n, 1), vectors)


@pytest.mark.parametrize("masks", ["row", "shared"])
def test_a_stop_ends_a_proposal(rng, masks):
    scene = Scene(rng, masks=masks, low_rank=True)
    vectors = scene.vectors(rng, 300_000)  # more than what is computed between two looks at the flag
    with Deadline() as deadline:
        assert len(scene.choose(vectors)) > 0
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            scene.choose(vectors)


@pytest.mark.parametrize("score", [BicNV, BicEV])
@pytest.mark.parametrize("low_rank", [False, True])
def test_drawn_scores_are_drawn_local_values_combined_with_true_prices(score, low_rank, rng):
    """By hand: one candidate and one draw at a time, in double precision."""
    scene = Scene(rng, score, low_rank, dropout=0.4)
    vectors = scene.vectors(rng)
    found = scene.drawn(vectors, 4)
    draws, nodes = scene.surrogate.draw(4, _generator(5)), torch.arange(D)
    sizes = scene.sizes(vectors)
    assert found.shape == (4, C)
    for c, dag in enumerate(scene.space.decode(vectors).numpy()):
        parents = torch.as_tensor(dag.T)[:, None, :]
        local = -scene.surrogate.to_local(nodes, draws.local(nodes, parents))[:, 0].T.double().numpy()
        expected = scene.score.combine(local, scene.score.family_price(Families.from_dags(dag[None])))
        assert found[:, c].numpy() == pytest.approx(expected, rel=0, abs=ROUNDING * sizes[c])


def test_without_dropout_every_way_to_draw_gives_the_same(rng):
    scene = Scene(rng, dropout=0.0, masks="row")
    vectors = scene.vectors(rng)
    drawn = scene.drawn(vectors, 3)
    rows = scene.rows(vectors, 6)
    for draw in drawn:
        assert (np.abs(draw.numpy() - rows.numpy()) < ROUNDING * scene.sizes(vectors)).all()


def test_a_mask_per_row_differs_between_equal_candidates(rng):
    scene = Scene(rng, dropout=0.5, masks="row", batch_norm="candidates")
    same = scene.vectors(rng, 1).repeat(C, 1)
    rows = scene.rows(same)
    shared = scene.drawn(same, 2)
    assert len(set(rows.tolist())) > C // 2
    assert all(len(set(draw.tolist())) == 1 for draw in shared)


def test_batched_and_compiled_values_are_the_same(rng):
    """What a GPU computes with matrix products, against sums of rows."""
    for low_rank in (False, True):
        scene = Scene(rng, dropout=0.3, low_rank=low_rank)
        candidates = _candidates(scene.vectors(rng))
        draws = scene.surrogate.draw(5, _generator())
        compiled, batched = (
            scene.acquisition.compiled(candidates, draws),
            scene.acquisition.batched(candidates, draws),
        )
        largest = scene.surrogate.scale[2:].abs().amax(0)[:, None, None]
        assert ((compiled[0] - batched[0]).abs() < ROUNDING * largest).all()
        assert torch.allclose(compiled[1], batched[1], rtol=ROUNDING)


def _rules(masks):
    return {"masks": masks, "batch_norm": "candidates" if masks == "row" else "training", "dropout": 0.3}


def _way(scene, masks):
    """Return the function from vectors to scores that a search with these masks uses."""
    return scene.rows if masks == "row" else lambda vectors: scene.drawn(vectors, scene.settings.paper.n_draws)


@pytest.mark.parametrize("masks", ["row", "shared"])
@pytest.mark.parametrize("score", [BicNV, BicEV, CountsPairs])
def test_pieces_of_any_size_give_the_same_bits(masks, score, rng):
    """Random scenes, whole, in pieces of random sizes, and in several threads: no ranking may depend on memory."""
    before = torch.get_num_threads()
    try:
        for number in range(4):
            d, n, hidden, n_draws = (int(rng.integers(2, high)) for high in (12, 200, 20, 18))
            options = {"edge_prior": rng.normal(size=(d, d))} if number % 3 == 0 else {}
            changes = {**_rules(masks), "hidden": hidden, "n_draws": n_draws}
            scene = Scene(rng, score, bool(number % 2), d, options, **changes)
            vectors, scores = scene.vectors(rng, n), _way(scene, masks)
            whole = scores(vectors)
            for room in (1.0, *10 ** rng.uniform(2, 5, 2)):
                scene.acquisition.memory = float(room)
                torch.set_num_threads(int(rng.integers(1, 4)))
                assert torch.equal(scores(vectors), whole)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("masks", ["row", "shared"])
def test_when_the_device_is_full_the_pieces_are_halved(masks, rng, monkeypatch):
    scene = Scene(rng, **_rules(masks))
    scene.surrogate.compiled = False  # as on a device
    vectors, scores = scene.vectors(rng), _way(scene, masks)
    whole = scores(vectors)
    sizes = []
    name, limit = ("sample_rows", 2) if masks == "row" else ("batched", 12)
    owner = DropoutSurrogate if masks == "row" else Acquisition
    plain = getattr(owner, name)

    def small_device(own, first, *others):
        sizes.append(len(first))
        values = plain(own, first, *others)  # the random numbers are drawn before the memory is missed
        if len(first) > limit:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return values

    monkeypatch.setattr(owner, name, small_device)
    assert ((scores(vectors) - whole).abs().numpy() < ROUNDING * scene.sizes(vectors)).all()
    assert sizes[0] > limit >= sizes[-1]
    failures = sum(size > limit for size in sizes)
    scores(vectors)
    assert sum(size > limit for size in sizes) == failures  # what was learned about the device is kept


def test_a_device_without_room_for_one_piece_is_an_error(rng, monkeypatch):
    scene = Scene(rng)

    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Acquisition, "compiled", full)
    with pytest.raises(SettingsError, match="does not fit on the device"):
        scene.drawn(scene.vectors(rng), 3)


def test_prices_that_do_not_add_up_are_asked_for(rng):
    scene = Scene(rng, CountsPairs)
    assert scene.acquisition.prices.each is None
    candidates = _candidates(scene.vectors(rng))
    _, price = scene.acquisition.compiled(candidates, scene.surrogate.draw(2, _generator()))
    dags = scene.space.decode(candidates.vectors()).numpy()
    expected = scene.score.family_price(Families.from_dags(dags)).reshape(C, D).T
    assert price.numpy() == pytest.approx(expected, rel=1e-5)


def test_ucb_ranks_by_mean_and_spread(rng):
    scores = torch.as_tensor(rng.normal(size=(6, 9)))
    for beta in (0.0, 1.5):
        settings = Settings().with_(acquisition="ucb", ucb_beta=beta)
        bound = scores.numpy().mean(axis=0) + beta * scores.numpy().std(axis=0)
        expected = np.argsort(-bound)
        assert rank_draws(scores, 4, settings.paper).tolist() == expected[:4].tolist()
        assert rank_draws(scores, 100, settings.paper).tolist() == expected.tolist()


def test_draws_name_their_favourites_in_turn():
    scores = torch.tensor([[3.0, 1.0, 0.0, 4.0, 5.0], [4.0, 6.0, 0.0, 1.0, 5.0]])
    # First choices 4 and 1, second choices 3 and 4 (named already), third choices 0 and 0.
    assert rank_draws(scores, 3, Settings().paper).tolist() == [4, 1, 3]
    assert rank_draws(scores, 4, Settings().paper).tolist() == [4, 1, 3, 0]
    assert sorted(rank_draws(scores, 100, Settings().paper).tolist()) == [0, 1, 2, 3, 4]


def test_draws_that_agree_name_fewer(rng):
    scores = torch.as_tensor(rng.normal(size=50)).repeat(16, 1)
    ranked = rank_draws(scores, 20, Settings().paper)
    assert ranked.tolist() == np.argsort(-scores[0].numpy())[:3].tolist()  # 2 * 20 / 16, rounded up


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
    scores = scene.rows(vectors, 3)
    chosen = _places(scene.choose(vectors), vectors)
    assert len(set(chosen)) == scene.settings.paper.batch_size
    assert torch.equal(scores[chosen], scores.sort(descending=True).values[: len(chosen)])  # ties may change places


def _places(chosen, vectors):
    """Return where the chosen vectors, which differ, are among all."""
    return [int((vectors == each).all(1).nonzero()[0, 0]) for each in chosen]


@pytest.mark.parametrize("acquisition", ["thompson", "ucb"])
@pytest.mark.parametrize("masks", ["row", "shared"])
def test_what_is_chosen_is_new_and_within_the_batch(acquisition, masks, rng):
    scene = Scene(rng, acquisition=acquisition, masks=masks)
    vectors = torch.cat([scene.vectors(rng), scene.vectors(rng, 3).repeat(10, 1)])
    chosen = scene.choose(vectors)
    assert 0 < len(chosen) <= scene.settings.paper.batch_size
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
    scores = scene.rows(vectors, 3)
    order = scores.topk(acquire.SHORTLIST * 4).indices
    scene.evaluator.evaluate(scene.space.decode(vectors[order[:2]]).numpy())
    new = order[new_dags(vectors[order], scene.space, scene.evaluator)]
    assert torch.equal(scene.choose(vectors), vectors[new[:4]])
