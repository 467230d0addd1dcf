import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest

from drbo.constraints import Constraints
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.region import TrustRegion
from drbo.search.paper.space import FullRankSpace, LowRankSpace, latin_hypercube
from drbo.settings import Settings

# Few distinct values: ties and zeros are the hard cases.
COORDINATES = st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])


def _plain_decode(potentials, links):
    """The definition, entry by entry."""
    d = len(potentials)
    return np.array([[potentials[i] < potentials[j] and links[i, j] > 0 for j in range(d)] for i in range(d)])


def test_full_rank_gives_the_papers_example():
    vector = torch.tensor([[-1.0, 3.0, 2.0, 2.0, -4.0, 7.0]])
    assert FullRankSpace(3).decode(vector)[0].int().tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]


@given(arrays(np.float32, (3, 5 * 4), elements=COORDINATES))
def test_low_rank_follows_its_definition(vectors):
    dags = LowRankSpace(5, rank=3).decode(torch.as_tensor(vectors)).numpy()
    for vector, dag in zip(vectors, dags, strict=True):
        embedding = vector[5:].reshape(5, 3)
        assert (dag == _plain_decode(vector[:5], embedding @ embedding.T)).all()
        assert is_acyclic(dag)


@given(arrays(np.float32, (3, 15), elements=COORDINATES))
def test_full_rank_follows_its_definition(vectors):
    dags = FullRankSpace(5).decode(torch.as_tensor(vectors)).numpy()
    for vector, dag in zip(vectors, dags, strict=True):
        links = np.zeros((5, 5))
        links[np.triu_indices(5, 1)] = vector[5:]
        assert (dag == _plain_decode(vector[:5], links + links.T)).all()


@given(arrays(np.float32, (4, 5 * 4), elements=st.floats(-1, 1, width=32)), st.floats(0.1, 8))
def test_a_positive_scale_changes_nothing(vectors, scale):
    # A power of two scales without rounding.
    scale = 2.0 ** round(np.log2(scale))
    space = LowRankSpace(5, rank=3)
    vectors = torch.as_tensor(np.where(np.abs(vectors) < 1e-3, 0, vectors))
    assert torch.equal(space.decode(vectors), space.decode(scale * vectors))


def test_parents_of_some_nodes_are_columns_of_the_dags(rng):
    space = LowRankSpace(7, rank=2)
    vectors = torch.as_tensor(rng.uniform(-1, 1, (11, space.dim)), dtype=torch.float32)
    nodes = torch.tensor([5, 0, 3])
    assert torch.equal(space.parents(vectors, nodes), space.decode(vectors).permute(2, 0, 1)[nodes])


NAMES = ["a", "b", "c", "d", "e"]
KNOWN = [
    Knowledge(required=["e -> a", "a -> c", "d -> c"]),
    Knowledge(tiers=[["e", "b"], ["a", "c"], ["d"]], required=["b -> d"], forbidden=["e -> d"]),
    Knowledge(max_parents=1, required=["c -> a"]),
    Knowledge(roots=["a"], leaves=["b"], max_parents={"b": 2}, required=["a -> b"]),
    Knowledge(tiers=[["e", "b"], ["a", "c", "d"]], forbid_within_tiers=True),
]


@settings(deadline=None)
@given(arrays(np.float32, (5, 5 * 4), elements=COORDINATES), st.sampled_from(KNOWN), st.booleans())
def test_every_vector_obeys_the_knowledge(vectors, knowledge, low_rank):
    constraints = Constraints.of(knowledge, NAMES)
    space = LowRankSpace(5, 3, constraints) if low_rank else FullRankSpace(5, constraints)
    for dag in space.decode(torch.as_tensor(vectors[:, : space.dim])).numpy():
        assert is_acyclic(dag)
        assert constraints.violations(dag) == []


@pytest.mark.parametrize("knowledge", KNOWN)
def test_knowledge_leaves_room(knowledge, rng):
    """Many different DAGs stay in reach, and every allowed edge appears in one of them."""
    constraints = Constraints.of(knowledge, NAMES)
    space = LowRankSpace(5, 4, constraints)
    vectors = torch.as_tensor(rng.uniform(-1, 1, (4000, space.dim)), dtype=torch.float32)
    dags = space.decode(vectors).numpy()
    seen = dags.any(axis=0)
    blocked_by_order = constraints.required.T
    assert (seen | ~constraints.allowed | blocked_by_order | ~_reachable(constraints)).all()
    assert len(np.unique(dags.reshape(4000, -1), axis=0)) > 10


def _reachable(constraints: Constraints):
    """Edges that do not close a cycle with the required ones and find room among the parents."""
    reach = np.linalg.matrix_power(constraints.required.astype(int) + np.eye(5, dtype=int), 5) > 0
    room = constraints.required.sum(axis=0) < constraints.max_parents
    return ~reach.T & (room[None, :] | constraints.required)


@pytest.mark.parametrize("density", [0.0, 0.2, 0.6, 1.0])
def test_encode_is_undone_by_decode(density, rng):
    for _ in range(10):
        order = rng.permutation(6)
        dag = np.triu(rng.random((6, 6)) < density, 1)[np.ix_(order, order)]
        for space in (FullRankSpace(6), LowRankSpace(6, rank=6), LowRankSpace(6, rank=8)):
            vector = space.encode(dag)
            assert vector is not None
            assert np.abs(vector).max() <= 1
            assert (space.decode(torch.as_tensor(vector[None], dtype=torch.float32))[0].numpy() == dag).all()


def test_a_graph_without_edges_has_a_vector_although_an_eigenvalue_is_0():
    for d in range(2, 9):
        empty = np.zeros((d, d), dtype=bool)
        assert LowRankSpace(d, rank=8).encode(empty) is not None


def test_encode_says_none_where_there_is_no_vector():
    # Four vectors in the plane cannot have pairwise negative products: no empty graph of 4 nodes at rank 2.
    assert LowRankSpace(4, rank=2).encode(np.zeros((4, 4), dtype=bool)) is None


def _candidates(space, rng, length, n=200):
    region = TrustRegion(space.dim, Settings().with_(region_start=length))
    center = torch.as_tensor(rng.uniform(-1, 1, space.dim), dtype=torch.float32)
    return region.candidates(center, n, torch.Generator().manual_seed(1))


LIMITS = [None, *KNOWN, Knowledge(forbidden=["a -> b", "c -> d"]), Knowledge(forbidden=[f"{x} -> a" for x in "bcde"])]


@pytest.mark.parametrize("knowledge", LIMITS)
@pytest.mark.parametrize("low_rank", [False, True])
@pytest.mark.parametrize("length", [0.05, 1.0])
def test_codes_are_the_decoded_dags(knowledge, low_rank, length, rng):
    constraints = Constraints.of(knowledge or Knowledge(), NAMES)
    space = LowRankSpace(5, 3, constraints) if low_rank else FullRankSpace(5, constraints)
    inputs = Inputs.allowed(constraints)
    candidates = _candidates(space, rng, length)
    center, codes, changed = space.codes(candidates, inputs)
    dags = space.decode(candidates.vectors()).numpy()
    assert (codes.numpy() == inputs.encode(dags)).all()
    assert (center.numpy() == inputs.encode(space.decode(candidates.center[None]).numpy())[:, 0]).all()
    assert (changed.numpy().astype(bool) == (codes != center[:, None]).any(2).numpy()).all()


@pytest.mark.parametrize("low_rank", [False, True])
def test_codes_of_many_nodes(low_rank, rng):
    """More nodes than a byte has bits, and candidate parents of their own for each node."""
    allowed = rng.random((21, 21)) < 0.3
    names = [f"x{i}" for i in range(21)]
    known = Constraints.of(
        Knowledge(forbidden=[(names[i], names[j]) for i, j in np.argwhere(~allowed) if i != j]), names
    )
    for constraints in (Constraints.none(21), known):
        space = LowRankSpace(21, 8, constraints) if low_rank else FullRankSpace(21, constraints)
        inputs, candidates = Inputs.allowed(constraints), _candidates(space, rng, 0.5)
        assert inputs.is_complete == (constraints is not known)
        _, codes, changed = space.codes(candidates, inputs)
        assert (codes.numpy() == inputs.encode(space.decode(candidates.vectors()).numpy())).all()
        assert 0 < changed.float().mean() < 1


def test_links_do_not_depend_on_what_is_decoded_together(rng):
    """Their signs are edges: the same bits for one vector or many, one node or all, and as the compiled code sums."""
    for _ in range(20):
        d, rank, n = (int(rng.integers(1, high)) for high in (12, 10, 60))
        space = LowRankSpace(d + 1, rank)
        vectors = torch.as_tensor(rng.uniform(-1, 1, (n, space.dim)), dtype=torch.float32)
        whole = space.links(vectors, torch.arange(d + 1))
        nodes = torch.as_tensor(rng.permutation(d + 1)[: int(rng.integers(1, d + 2))])
        start = int(rng.integers(n))
        assert torch.equal(space.links(vectors[start:], nodes), whole[nodes][:, start:])
        embeddings = vectors[:, d + 1 :].reshape(n, d + 1, rank).numpy()
        expected = np.zeros((d + 1, n, d + 1), np.float32)
        for k in range(rank):
            expected += embeddings[:, :, k].T[:, :, None] * embeddings[:, :, k]
        assert np.array_equal(whole.numpy(), expected)


@pytest.mark.parametrize(("n", "dim"), [(1, 1), (1, 30), (64, 3), (7, 270)])
def test_every_coordinate_has_one_point_in_each_of_n_strips(n, dim, rng):
    points = latin_hypercube(n, dim, rng)
    assert points.shape == (n, dim)
    assert points.dtype == torch.float32
    assert float(points.abs().max()) <= 1.0
    strips = np.floor((points.double().numpy() + 1) / 2 * n).clip(0, n - 1)
    assert (np.sort(strips, axis=0) == np.arange(n)[:, None]).all()


def test_points_are_uniform_and_coordinates_unrelated():
    points = np.concatenate([latin_hypercube(16, 4, np.random.default_rng(seed)).numpy() for seed in range(200)])
    for coordinate in points.T:
        assert kstest(coordinate, "uniform", args=(-1, 2)).pvalue > 1e-3
    off_diagonal = np.corrcoef(points, rowvar=False) - np.eye(4)
    assert np.abs(off_diagonal).max() < 0.1


def test_the_generator_decides():
    first, again, other = (latin_hypercube(8, 5, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
