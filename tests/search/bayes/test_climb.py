import numpy as np
import pytest

from drbo import _core
from drbo.constraints import Constraints
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.search.bayes import climb
from drbo.search.bayes.climb import ClimbRules, Drawn

D, ROWS, FEATURES, DRAWS = 5, 7, 3, 2


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def a_drawn(rng, low=-100.0, high=100.0):
    return Drawn(
        signs=rng.choice([-1.0, 1.0], size=(D, D * ROWS)),
        starts=np.arange(D + 1) * ROWS,
        decay=np.exp(-0.3 * np.arange(D + 1))[None].repeat(D, 0),
        members=rng.integers(2, size=(D, D, FEATURES)).astype(float),
        offset=rng.normal(size=(DRAWS, D)),
        slope=rng.normal(size=(DRAWS, D, D)),
        weight=rng.normal(size=(DRAWS, D * ROWS)),
        amplitude=rng.normal(size=(DRAWS, D, FEATURES)),
        relative=np.empty((DRAWS, 0)),
        low=np.full(D, float(low)),
        high=np.full(D, float(high)),
        truth=np.empty(0),
    )


def some_rules(level=0.0, price=0.0, knowledge=None):
    names = [f"x{i}" for i in range(D)]
    limits = Constraints.of(knowledge or Knowledge(), names)
    most = limits.max_parents.astype(np.int64)
    return ClimbRules(limits.allowed, limits.required, most, np.full((D, D), price), -np.ones(D), level)


CODE = np.random.default_rng(5).integers(1, 2**63, size=(D, D + 1), dtype=np.uint64)


def no_families():
    return _core.FamilyTable(CODE)


def value(drawn, draw, node, parents):
    """The formula of Drawn, term by term."""
    x = parents.astype(float)
    others = np.arange(D) != node
    total = drawn.offset[draw, node] + x[others] @ drawn.slope[draw, node, others]
    for row in range(drawn.starts[node], drawn.starts[node + 1]):
        apart = int(((drawn.signs[:, row] > 0) != parents)[others].sum())
        total += drawn.weight[draw, row] * drawn.decay[node, apart]
    for k in range(FEATURES):
        total += drawn.amplitude[draw, node, k] * (-1) ** int((x * drawn.members[node, :, k])[others].sum())
    return float(np.clip(total, drawn.low[node], drawn.high[node]))


def total_score(drawn, draw, dag, rules):
    values = np.array([value(drawn, draw, node, dag[:, node]) for node in range(D)])
    shares = rules.gain / rules.level * np.exp(values) if rules.level else rules.gain * values
    return shares.sum() + (rules.price * dag).sum()


def neighbours(dag, rules):
    for i in range(D):
        for j in range(D):
            if i == j:
                continue
            for turned in (False, True):
                other = dag.copy()
                other[i, j] = not dag[i, j]
                if turned and not dag[i, j]:
                    continue
                other[j, i] = turned or dag[j, i]
                allowed = not (other & ~rules.allowed).any() and not (rules.required & ~other).any()
                if allowed and is_acyclic(other) and (other.sum(axis=0) <= rules.max_parents).all():
                    yield other


@pytest.mark.parametrize("level", [0.0, 0.7])
def test_a_climb_ends_where_no_single_edge_gains(level, rng):
    drawn, rules, known = a_drawn(rng, low=-3, high=3), some_rules(level, price=-0.2), no_families()
    starts = np.zeros((DRAWS, D, D), dtype=bool)
    for draw, end in enumerate(climb.climb_all(starts, drawn, rules, known)):
        assert is_acyclic(end)
        best = total_score(drawn, draw, end, rules)
        assert best > total_score(drawn, draw, starts[draw], rules)
        assert max(total_score(drawn, draw, other, rules) for other in neighbours(end, rules)) <= best + 1e-6
    assert not starts.any()


def test_each_step_is_the_best_one(rng):
    """From every start the first move of a climb is the best neighbour: a climb of the best neighbour ends alike."""
    drawn, rules, known = a_drawn(rng), some_rules(price=-0.5), no_families()
    start = np.triu(rng.random((D, D)) < 0.5, 1)
    near = max(neighbours(start, rules), key=lambda dag: total_score(drawn, 0, dag, rules))
    ends = climb.climb_all(np.stack([start, start]), drawn, rules, known)
    again = climb.climb_all(np.stack([near, near]), drawn, rules, known)
    assert (ends[0] == again[0]).all()


def test_knowledge_holds_on_the_way_and_at_the_end(rng):
    knowledge = Knowledge(required=["x3 -> x0"], forbidden=["x1 -> x2"], max_parents=2)
    rules, known = some_rules(knowledge=knowledge), no_families()
    limits = Constraints.of(knowledge, [f"x{i}" for i in range(D)])
    start = limits.required.copy()
    for _ in range(20):
        drawn = a_drawn(rng)
        pairs = rng.integers(D, size=(6, 2))
        jumped = climb.jump(start, pairs, rules)
        assert limits.violations(jumped) == []
        for end in climb.climb_all(np.stack([jumped, start]), drawn, rules, known):
            assert limits.violations(end) == []


def test_a_known_family_has_its_true_value(rng):
    drawn, rules, known = a_drawn(rng, low=-3, high=3), some_rules(), no_families()
    key, halfway = CODE[2, D] ^ CODE[2, 0] ^ CODE[2, 4], CODE[2, D] ^ CODE[2, 4]
    known.insert(np.array([key, halfway]), np.array([-1_000.0, -500.0]))
    ends = climb.climb_all(np.zeros((DRAWS, D, D), dtype=bool), drawn, rules, known)
    assert ends[:, :, 2].tolist() == [[True, False, False, False, True]] * DRAWS


def test_a_table_of_families_keeps_them_apart_and_grows(rng):
    known = no_families()
    keys = rng.integers(1, 2**63, size=3_000, dtype=np.uint64)
    keys[100:200] = keys[:100] + np.uint64(2**20)  # these have the same place
    known.insert(keys, np.arange(3_000.0))
    known.insert(keys[:5], np.arange(5.0) + 100)
    assert known.look_up(keys).tolist() == [*range(100, 105), *range(5, 3_000)]
    assert np.isnan(known.look_up(np.array([12345, 0], dtype=np.uint64))).all()


@pytest.mark.parametrize("code", [np.ones((2, 2), dtype=np.uint64), np.ones((0, 0), dtype=np.uint64)])
def test_a_table_of_families_needs_a_word_for_each_node_and_its_parents(code):
    with pytest.raises(ValueError, match="wrong shape of code"):
        _core.FamilyTable(code)


def test_jumps_change_pairs_and_keep_the_dag_acyclic(rng):
    rules = some_rules()
    dag = np.triu(np.ones((D, D), dtype=bool), 1)
    changed = [climb.jump(dag, rng.integers(D, size=(8, 2)), rules) for _ in range(50)]
    assert all(is_acyclic(other) for other in changed)
    turned = [other for other in changed if (other & dag.T).any()]
    removed = [other for other in changed if (~(other | other.T) & dag).any()]
    assert turned
    assert removed
    assert dag.sum() == D * (D - 1) / 2


def shares(drawn, draw, nodes, parents, rules, rng):
    tables = no_families()
    drawn, rules = _core.DrawnFunctions(*drawn), _core.ClimbRules(*rules)
    return _core.drawn_shares(draw, nodes, parents, drawn, rules, tables, tables)


@pytest.mark.parametrize("level", [0.0, 2.0])
def test_shares_of_families_and_of_their_toggles_are_those_of_the_formula(rng, level):
    drawn, rules = a_drawn(rng, low=-2, high=2), some_rules(level, price=-0.3)
    for node in range(D):  # no node is its own parent
        drawn.signs[node, drawn.starts[node] : drawn.starts[node + 1]] = -1.0
    nodes = rng.integers(D, size=40)
    parents = rng.random((40, D)) < 0.5
    parents[np.arange(40), nodes] = False
    for draw in range(DRAWS):

        def added(node, mask, draw=draw):
            one = value(drawn, draw, node, mask)
            return (-np.exp(one) / level if level else -one) - 0.3 * mask.sum()

        found, changes = shares(drawn, draw, nodes, parents, rules, rng)
        for row, (node, mask) in enumerate(zip(nodes, parents, strict=True)):
            assert found[row] == pytest.approx(added(node, mask), abs=1e-12)
            for j in set(range(D)) - {node}:
                toggled = mask ^ (np.arange(D) == j)
                assert changes[row, j] == pytest.approx(added(node, toggled) - found[row], abs=1e-12)
            assert changes[row, node] == 0.0


def cut(drawn, node, x, free):
    """A free value between those of the known sets that hold x and of those that x holds."""
    rows = slice(node * ROWS, (node + 1) * ROWS)
    known = list(zip(drawn.truth[rows], (drawn.signs[:, rows] > 0).T, strict=True))
    least = max([v for v, y in known if not (x & ~y).any()], default=-100.0)
    most = min([v for v, y in known if not (y & ~x).any()], default=100.0)
    return max(min(free, most), least)


def bounded_drawn(rng):
    drawn = a_drawn(rng)._replace(truth=rng.normal(size=D * ROWS))
    for node in range(D):
        drawn.signs[node, node * ROWS : (node + 1) * ROWS] = -1.0  # no node is in its own parent set
    return drawn


def test_known_families_bound_what_is_drawn(rng):
    """A family lies between its known subsets and supersets, and so does every toggle of it."""
    drawn = bounded_drawn(rng)
    nodes = np.repeat(np.arange(D), 20)
    parents = rng.random((len(nodes), D)) < 0.5
    parents[np.arange(len(nodes)), nodes] = False
    found, changes = shares(drawn, 0, nodes, parents, some_rules(), rng)
    free = [value(drawn, 0, node, x) for node, x in zip(nodes, parents, strict=True)]
    for row, (node, x) in enumerate(zip(nodes, parents, strict=True)):
        assert -found[row] == pytest.approx(cut(drawn, node, x, free[row]))
        for j in set(range(D)) - {node}:
            other = x ^ (np.arange(D) == j)
            expected = cut(drawn, node, other, value(drawn, 0, node, other))
            assert -(found[row] + changes[row, j]) == pytest.approx(expected)
    assert (np.abs(-found - free) > 1e-6).any()


def test_climbs_end_at_optima_of_the_function_that_is_cut(rng):
    drawn = bounded_drawn(rng)
    rules, known = some_rules(price=-0.1), no_families()

    def total(draw, dag):
        values = [cut(drawn, node, dag[:, node], value(drawn, draw, node, dag[:, node])) for node in range(D)]
        return (rules.gain * values).sum() + (rules.price * dag).sum()

    for draw, end in enumerate(climb.climb_all(np.zeros((DRAWS, D, D), dtype=bool), drawn, rules, known)):
        assert max(total(draw, other) for other in neighbours(end, rules)) <= total(draw, end) + 1e-6


@pytest.mark.parametrize("name", [name for name in Drawn._fields if name not in ("relative", "truth")])
def test_functions_of_the_wrong_shape_are_refused(rng, name):
    drawn = a_drawn(rng)
    with pytest.raises(ValueError, match=r"shape|rise"):
        _core.DrawnFunctions(*drawn._replace(**{name: np.ascontiguousarray(getattr(drawn, name)[..., :-1])}))


def test_signs_are_signs(rng):
    drawn = a_drawn(rng)
    drawn.signs[1, 2] = 3.0
    with pytest.raises(ValueError, match="signs"):
        _core.DrawnFunctions(*drawn)


@pytest.mark.parametrize("moves", [-1, D * D + 1, np.iinfo(np.int64).max])
def test_a_number_of_moves_that_no_climb_makes_is_refused(rng, moves):
    functions, limits = _core.DrawnFunctions(*a_drawn(rng)), _core.ClimbRules(*some_rules())
    dags, change = np.zeros((1, D, D), dtype=bool), np.zeros((1, D, D))
    stale, counts = np.ones((1, D), dtype=bool), np.array([moves])
    with pytest.raises(ValueError, match="moves must be in"):
        _core.climb_draws(dags, change, stale, counts, functions, limits, no_families(), no_families(), 1)
