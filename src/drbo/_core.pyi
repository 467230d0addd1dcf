"""Types of the compiled core. Arrays must have the given type and C order; nothing is converted on the way in."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Shorts = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Masks = npt.NDArray[np.uint64]

class OutOfTimeError(KeyboardInterrupt):
    """Ends a computation at the deadline, as Ctrl-C would: whoever catches it keeps what is known by then."""

class StopFlag:
    """Ends computations that look at it."""

    def __init__(self) -> None: ...
    def set(self) -> None: ...
    @property
    def is_set(self) -> bool: ...

def set_stop_source(source: Callable[[], StopFlag | None], /) -> None: ...

# lattice.cpp: tables (d, 2^(d-1)) over all families, values (2^d,) over all sets of nodes
def best_inside(shares: Floats, threads: int, /) -> Floats: ...
def best_supersets(values: Floats, /) -> None: ...
def lattice_forward(best: Floats, /) -> Floats: ...
def lattice_backward(best: Floats, /) -> Floats: ...
def lattice_split(
    shares: Floats,
    best: Floats,
    before: Floats,
    after: Floats,
    node: int,
    needed: int,
    banned: int,
    must: int,
    /,
) -> tuple[float, int]: ...
def sum_inside(logs: Floats, threads: int, /) -> Floats: ...
def sum_over_orders(inside: Floats, threads: int, /) -> Floats: ...
def sum_over_dags(inside: Floats, logs: Floats, threads: int, /) -> Floats: ...
def edge_sums(inside: Floats, passed: Floats, threads: int, /) -> Floats: ...

# set_functions.cpp: values (2^d,) over all sets of columns
def log_determinants(matrix: Floats, /) -> Floats: ...
def cell_sums(
    columns: Shorts,
    cardinalities: Ints,
    repeats: Ints,
    ess: float,
    limit: float,
    threads: int,
    /,
) -> Floats: ...

# order_graph.cpp
class Bounds:
    """What the nodes outside a set can add at most: the least sum over the groups of a partition of the nodes."""

    def __init__(
        self,
        group_of: Ints,  # (P, d) the group of each node in each partition
        place: Ints,  # (P, d) its bit within the group
        starts: Ints,  # (groups,) where the table of each group begins
        partition_of: Ints,  # (groups,)
        values: Floats,  # all tables, one after the other; by the members of the group that have come before
    ) -> None: ...

class ParentIndex:
    """The parent sets of all nodes, the best first, found by the nodes that they must not hold."""

    def __init__(self, masks: list[Masks], shares: list[Floats]) -> None: ...
    @property
    def n_nodes(self) -> int: ...

class SetTable:
    """A hash table of the sets of the next layer, each with its best score and the node that comes last."""

    def __init__(self) -> None: ...
    @property
    def count(self) -> int: ...
    def layer(self) -> tuple[Masks, Floats, npt.NDArray[np.int8]]: ...

def expand_sets(
    sets: Masks,
    scores: Floats,
    first: int,
    end: int,
    parents: ParentIndex,
    bounds: Bounds,
    known: float,
    table: SetTable,
    /,
) -> int: ...

# regressions.cpp
def residuals(
    correlation: Floats,  # (d, d)
    nodes: Ints,  # (m,)
    starts: Ints,  # (m + 1,) where the parents of a family begin
    members: Ints,  # parents, one family after the other
    smallest: float,
    threads: int,
    /,
) -> Floats: ...

# experiment_families.cpp
def experiment_families(
    means: Floats,  # (E, d)
    covariances: Floats,  # (E, d, d) of standardised columns
    rows: Floats,  # (E,)
    floors: Floats,  # (d,) the least variance of each column
    states: Ints,  # (E, d) 0: shared, 1: may change, 2: changes, 3: changes and has no parents
    charge: float,  # of ln n, per parameter
    price: float,  # of a change that was not known before
    collinear: float,
    drift: float,  # variance of intercepts between experiments, relative to that of the noise
    nodes: Ints,  # (m,)
    starts: Ints,  # (m + 1,) where the parents of a family begin
    members: Ints,  # parents, one family after the other
    threads: int,
    /,
) -> tuple[Floats, Flags]: ...

# experiment_counts.cpp
def experiment_counts(
    codes: Shorts,  # (d, u) levels of the distinct rows, one experiment after the other
    levels: Ints,  # (d,) how many each column has
    repeats: Ints,  # (u,) how often each row occurs
    first: Ints,  # (E + 1,) where the rows of each experiment begin
    states: Ints,  # (E, d) as above
    charge: float,  # of ln n, per parameter
    price: float,  # of a change that was not known before
    nodes: Ints,  # (m,)
    starts: Ints,  # (m + 1,) where the parents of a family begin
    members: Ints,  # parents, one family after the other
    parameters: Floats,  # (m,) of a table
    threads: int,
    /,
) -> tuple[Floats, Flags]: ...

# nongaussian.cpp
class NoiseRows:
    """Rows of standardised columns, and fits of families whose noise may be other than Gaussian."""

    def __init__(
        self,
        columns: Floats,  # (d, n) standardised
        shares: Floats,  # (n,) the weight of each row, together 1
        correlation: Floats,  # (d, d)
        charge: float,  # negentropy that is not credited
        collinear: float,
        floor: float,
    ) -> None: ...
    def fits(
        self,
        nodes: Ints,  # (m,)
        starts: Ints,  # (m + 1,) where the parents of a family begin
        members: Ints,  # parents, one family after the other
        threads: int,
        /,
    ) -> Floats: ...
    def all_fits(
        self,
        possible: Masks,  # (d,) columns that may be parents of a node
        most: Ints,  # (d,) parents
        threads: int,
        /,
    ) -> Floats: ...  # (d, 2^(d-1)); NaN: not asked for

# listed.cpp: families listed node by node, packed as 64-bit words (m, w)
def climb_known(
    order: Ints, words: Masks, shares: Floats, starts: Ints, visits: Ints, /
) -> tuple[Ints, Ints, float]: ...
def order_chains(
    starts: Ints,
    words: Masks,
    logs: Floats,
    bounds: Ints,
    moved: Ints,
    length: Ints,
    uniform: Floats,
    threads: int,
    /,
) -> tuple[Floats, Ints]: ...

# linear_parents.cpp
def linear_parent_sets(
    matrix: Floats,
    inverse: Floats,
    n_required: int,
    offset: Floats,
    slope: Floats,
    weights: Floats,
    top: Floats,
    logarithmic: bool,
    half: float,
    floor: float,
    best_only: bool,
    max_steps: int,
    max_sets: int,
    /,
) -> tuple[Masks, Floats, int]: ...

# discrete_parents.cpp
def discrete_parent_sets(
    columns: Shorts,
    levels: Ints,
    repeats: Ints,
    n_required: int,
    weights: Floats,
    most: int,
    unit: float,
    ess: float,
    floor: float,
    best_only: bool,
    max_steps: int,
    max_sets: int,
    /,
) -> tuple[Masks, Floats, int]: ...

# draws.cpp
class FamilyTable:
    """The values of known families; a key is the exclusive or of random words for the node and its parents."""

    def __init__(
        self,
        code: Masks,  # (d, d + 1) random words by node: of each parent, and last of the node itself
        /,
    ) -> None: ...
    def insert(self, keys: Masks, values: Floats, /) -> None: ...
    def look_up(self, keys: Masks, /) -> Floats: ...

class DrawnFunctions:
    """Functions drawn from a surrogate; see :class:`drbo.search.bayes.climb.Drawn`."""

    def __init__(
        self,
        signs: Floats,
        starts: Ints,
        decay: Floats,
        members: Floats,
        offset: Floats,
        slope: Floats,
        weight: Floats,
        amplitude: Floats,
        relative: Floats,
        low: Floats,
        high: Floats,
        truth: Floats,
    ) -> None: ...

class ClimbRules:
    """What a climb maximises, and which DAGs it may visit; see :class:`drbo.search.bayes.climb.ClimbRules`."""

    def __init__(
        self, allowed: Flags, required: Flags, max_parents: Ints, price: Floats, gain: Floats, level: float
    ) -> None: ...

def climb_draws(
    dags: Flags,
    change: Floats,
    stale: Flags,
    moves: Ints,
    drawn: DrawnFunctions,
    rules: ClimbRules,
    known: FamilyTable,
    cheap: FamilyTable,
    threads: int,
    /,
) -> None: ...
def drawn_shares(
    draw: int,
    nodes: Ints,
    parents: Flags,
    drawn: DrawnFunctions,
    rules: ClimbRules,
    known: FamilyTable,
    cheap: FamilyTable,
    /,
) -> tuple[Floats, Floats]: ...

# paper_draws.cpp: candidates of the trust region; C candidates with room for some moved coordinates
def region_moves(
    low: Singles,  # (dim,)
    width: Singles,  # (dim,)
    probability: float,
    directions: npt.NDArray[np.uint32],  # (dim, bits) Sobol direction numbers; bits 0: uniform numbers
    shift: npt.NDArray[np.uint32],  # (dim,)
    seed: int,
    coordinate: Shorts,  # (C, room)
    value: Singles,  # (C, room)
    threads: int,
    /,
) -> None: ...
def decode_candidates(
    center: Singles,  # (dim,) potentials already in their tiers
    rank: int,  # 0: one number per pair
    pairs: Shorts,  # (P, 2)
    tier: Singles,  # (d,) what is added to a moved potential
    place: Shorts,  # (d, d) bit of parent i among the bits of node j at [j, i]; -1: not allowed
    parents: Bytes,  # (d, d) 1 where i is a parent of j in the centre's DAG at [j, i]
    center_codes: Bytes,  # (d, bytes)
    coordinate: Shorts,  # (C, room)
    value: Singles,  # (C, room)
    codes: Bytes,  # (d, C, bytes)
    changed: Bytes,  # (d, C)
    threads: int,
    /,
) -> None: ...
def network_values(
    codes: Bytes,  # (d, C, bytes)
    changed: Bytes,  # (d, C)
    center_codes: Bytes,  # (d, bytes)
    w1: Singles,  # (d, m, h)
    b1: Singles,  # (d, h)
    output: Singles,  # (d, h, S)
    offset: Singles,  # (d, 1)
    scale: Singles,  # (4, d) mean, spread, least and largest value
    local: Singles,  # (d, C, S)
    threads: int,
    /,
) -> None: ...
def candidate_prices(
    codes: Bytes,  # (d, C, bytes)
    empty: Singles,  # (d,) price of no parents
    each: Singles,  # (d, m) what a parent adds
    price: Singles,  # (d, C)
    threads: int,
    /,
) -> None: ...

# paper_train.cpp
class Networks:
    """Parameters of the networks of all nodes, or their gradients."""

    def __init__(
        self,
        w1: Singles,  # (d, m, h)
        b1: Singles,  # (d, h), as the next three
        gamma: Singles,
        beta: Singles,
        w2: Singles,
        b2: Singles,  # (d, 1)
    ) -> None: ...

def network_gradients(
    codes: Bytes,  # (d, N, bytes) parent sets of the training batch
    local: Singles,  # (d, N) their local scores
    scale: Singles,  # (2, d) mean and spread of the targets
    parameters: Networks,
    gradients: Networks,
    seed: int,
    dropout: float,
    eps: float,
    threads: int,
    /,
) -> Singles: ...
def adam_step(
    flat: Singles,
    moment1: Singles,
    moment2: Singles,
    gradient: Singles,
    clip: float,
    beta1: float,
    beta2: float,
    rate: float,
    correction2: float,
    eps: float,
    threads: int,
    /,
) -> None: ...
def activation_moments(
    codes: Bytes,  # (d, N, bytes)
    parameters: Networks,
    mean: Singles,  # (d, h)
    second: Singles,  # (d, h)
    threads: int,
    /,
) -> None: ...
def network_samples(
    codes: Bytes,  # (d, C, bytes)
    parameters: Networks,
    moments: Singles,  # (2, d, h) mean and variance of the activations; (2, 0, h): those of these parent sets
    scale: Singles,  # (4, d) mean, spread, least and largest value
    seed: int,
    dropout: float,
    eps: float,
    local: Singles,  # (d, C)
    threads: int,
    /,
) -> None: ...

# steps.cpp and the policies: what adding or dropping a parent is worth
class Steps:
    @property
    def n_nodes(self) -> int: ...
    def expand(self, nodes: Ints, parents: Ints, sizes: Ints, /) -> tuple[Floats, Floats, Ints, Floats]: ...

class ScoreSteps(Steps):
    def __init__(
        self, n_nodes: int, expand: Callable[[Ints, Ints, Ints], tuple[Floats, Floats, Ints, Floats]]
    ) -> None: ...

class RegressionSteps(Steps):
    def __init__(
        self,
        grams: Floats,  # (G, D, D) columns 0 to d - 1 are the variables, of unit length; then basis functions
        firsts: Ints,  # (G, d + 1) where the functions of each variable begin; 0, ..., d: the variables themselves
        group: Ints,  # (d,) the matrix of each node's rows
        rows: Floats,  # (d,)
        weights: Floats,  # (d,) zero: unequal variances
        constants: Floats,  # (d, d + 1) of an evidence; (0, 0): the score is none
        factors: Floats,  # (d, d + 1)
        prices: Floats,  # (d, d) prices[j, i]: what the edge i -> j costs; (d, 1), if screened: the same for every i
        allowed: Flags,  # (d, d) allowed[j, i]: the edge i -> j may be; (0, 0), if screened: every edge may be
        required: Flags,  # (d, d) required[j, i]: the edge i -> j must be; (0, 0), if screened: none must be
        max_parents: Ints,  # (d,)
        collinear: float,  # a share of variance at or below this makes a column collinear with the parents
        floor: float,  # residual shares under this count as a perfect fit
        listed: Ints,  # the candidate parents of all nodes, those of each in rising order
        starts: Ints,  # (d + 1,) where those of each node begin; (0,): all columns are candidates
    ) -> None: ...

class CountSteps(Steps):
    def __init__(
        self,
        codes: list[Shorts],  # (d, u) levels of the distinct rows, for each group of nodes with the same rows
        repeats: list[Ints],  # (u,) how often each row occurs
        group: Ints,  # (d,)
        cardinalities: Ints,  # (d,)
        ess: float,  # equivalent sample size of BDeu; 0: the log-likelihood
        gain: float,
        parameter_prices: Floats,  # (d,) of a configuration of the parents
        prices: Floats,  # (d, d), as in RegressionSteps
        allowed: Flags,
        required: Flags,
        max_parents: Ints,
    ) -> None: ...

class BlockSteps(Steps):
    def __init__(
        self,
        grams: Floats,  # (G, D, D)
        firsts: Ints,  # (d + 1,) where the columns of each variable begin
        group: Ints,  # (d,)
        rows: Floats,  # (d,)
        prices: Floats,  # (d, d), as in RegressionSteps
        allowed: Flags,
        required: Flags,
        max_parents: Ints,
        collinear: float,  # a share of variance at or below this makes a column collinear with the parents
    ) -> None: ...

class NonGaussianSteps(Steps):
    def __init__(
        self,
        data: list[NoiseRows],  # for each group of nodes with the same rows
        group: Ints,  # (d,)
        rows: Floats,  # (d,)
        prices: Floats,  # (d, d), as in RegressionSteps
        allowed: Flags,
        required: Flags,
        max_parents: Ints,
    ) -> None: ...

# order_climb.cpp
class OrderClimb:
    def __init__(self, steps: Steps, required: Flags, before: Flags | None, threads: int) -> None: ...
    def adopt(self, dag: Flags, threads: int, /) -> Ints: ...
    def put(self, order: Ints, chosen: Ints | None) -> None: ...
    def climb(self, visits: Ints, threads: int, flag: StopFlag, /) -> None: ...
    def shake(self, draws: Floats, tolerance: float, threads: int, flag: StopFlag, /) -> None: ...
    def near(self, node: int) -> Shorts: ...
    @property
    def dag(self) -> Flags: ...
    @property
    def order(self) -> Ints: ...
    @property
    def chosen(self) -> Ints: ...
    @property
    def values(self) -> Floats: ...
    @property
    def repaired(self) -> bool: ...
    @property
    def n_sets(self) -> int: ...
    @property
    def bytes(self) -> int: ...

# ancestral.cpp: graphs as directed and bidirected edges, each (d, d)
class AncestralScore:
    """Scores of maximal ancestral graphs, kept by district."""

    def __init__(
        self,
        correlation: Floats,  # (d, d)
        rows: float,
        price: float,  # of an edge
        largest: int,  # number of nodes in a district
        never: Flags,  # (d, d) i must not be an ancestor of j
        tolerance: float,  # of a district's -2 log likelihood per row
    ) -> None: ...
    def total(self, directed: Flags, bidirected: Flags, /) -> float: ...
    def legal(self, directed: Flags, bidirected: Flags, /) -> bool: ...
    def gains(
        self,
        directed: Flags,
        bidirected: Flags,
        moves: Ints,  # (m, 3) two nodes, and their edge: 0 none, 1 ->, 2 <-, 3 <->
        /,
    ) -> Floats: ...
    def listed(
        self,
        required: Flags,  # (d, d) arrows of every graph
        least: float,
        /,
    ) -> tuple[npt.NDArray[np.uint8], Floats]: ...  # (m, pairs i < j) edges as in moves; (m,) scores
    @property
    def known(self) -> int: ...

# meek.cpp: partially directed graphs (d, d)
class ClosedGraph:
    """A partially directed graph that is closed under Meek's rules."""

    def __init__(self, graph: Flags) -> None: ...
    def direct(self, a: int, b: int, /) -> None: ...  # the undirected edge a - b as a -> b
    def is_undirected(self, a: int, b: int, /) -> bool: ...
    def matrix(self) -> Flags: ...

def meek_closure(graph: Flags, /) -> Flags: ...
def dag_to_cpdag(dag: Flags, /) -> Flags: ...
def extension(graph: Flags, /) -> tuple[Flags, Ints]: ...  # a DAG, and the nodes that could not be ordered

# additive.cpp
class AdditiveFits:
    """Penalised additive regressions on smooth terms of the columns."""

    def __init__(
        self,
        rows: int,
        ridge: float,  # penalty of every function
        exact: float,  # share of the standard deviation below which a residual becomes 0
    ) -> None: ...
    def add(
        self,
        column: int,
        basis: Floats,  # (q, n) orthonormal: basis @ basis.T / n == I
        penalty: Floats,  # (q,)
        strengths: Floats,  # (L,) factors of the penalty
        /,
    ) -> None: ...
    def has(self, column: int, /) -> bool: ...
    def residuals(
        self,
        responses: Floats,  # (m, n)
        starts: Ints,  # (m + 1,) where the parents of each response begin
        members: Ints,  # rising parents
        threads: int,
        /,
    ) -> Floats: ...  # (m, n)

# dependence.cpp
def cross_squares(left: Floats, right: Floats) -> float: ...  # (n, q), (n, r)
def by_rank(column: Floats, table: Floats) -> Floats | None: ...  # (n,), (n, r)
def separating_set(
    correlation: Floats,  # (d, d)
    i: int,
    j: int,
    candidates: Ints,
    size: int,
) -> tuple[float, Ints]: ...
def climb_classes(
    values: Floats,  # (d, n)
    start: Floats,  # (n,) shares of the first class
    most: int,  # steps
    gain: float,  # of the log likelihood per row, below which the climb ends
    least: float,  # variance of a column in a class
) -> float: ...
