"""Tables of all families: every legal family, scored by compiled kernels or the evaluator, or only the scored ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.constraints import Constraints
from drbo.deadline import current
from drbo.machine.threads import available
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.forms import BlockForm, CountForm, GramForm, RowForm, TabledForm
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.subset_kernels import column

#: Up to this many nodes tables are made unasked: d 2^(d-1) numbers of 8 bytes are 84 MB at 20 nodes.
MAX_NODES = 20
#: A column that the others leave a smaller share of its variance costs the compiled kernels too many digits.
LEAST_RESIDUAL = 1e-7
#: A family is skipped only where its share lies this far (in log evidence) below one that can replace it.
SKIP_MARGIN = 50.0
#: Families of a node whose values and prices are computed together.
PIECE = 2**18
#: Residuals of all columns, for each size of a parent set, that a thread holds at most: 256 MiB.
MAX_RESIDUALS = 2**25


@dataclass(frozen=True, eq=False)
class FamilyTables:
    """Local values and prices of families, a row per node, a column per set of the other nodes.

    The column of a set of parents is its bit mask with the node's own bit taken out, as in
    :mod:`drbo.search.subset_kernels`.
    """

    local: Floats  # (d, 2^(d-1)); any number where the price is minus infinity
    price: Floats  # (d, 2^(d-1)); minus infinity for families that may not be used
    complete: bool  # all families that the knowledge allows are here, or were skipped under a bound
    n_families: int  # families with a value
    rounding: float = 0.0  # bound on the error of the score of a DAG that comes from the kernels

    @property
    def n_nodes(self) -> int:
        return len(self.local)

    def shares(self, score: Score, level: float | None = None) -> Floats:
        """Return what each family adds to the score, in its additive form at a level; minus infinity: not usable."""
        shares = np.empty_like(self.local)
        for node in range(self.n_nodes):
            local, price = (part[node][:, None] for part in (self.local, self.price))
            shares[node] = score.share(local, price, level, np.array([node]))[:, 0]
        return shares


def sets_of(n_nodes: int, node: int, part: slice = slice(None)) -> Ints:
    """Return the set of parents, as a bit mask of all nodes, behind each column of a node's row, or some of them."""
    columns = np.arange(*part.indices(1 << (n_nodes - 1)))
    low = (1 << node) - 1
    return (columns & low) | ((columns & ~low) << 1)


def families_of(n_nodes: int, node: int, part: slice = slice(None)) -> Families:
    """Return all families of a node, in the order of its columns, or some of them."""
    packed = sets_of(n_nodes, node, part).astype("<u4").view(np.uint8).reshape(-1, 4)
    parents = np.unpackbits(packed, axis=1, count=n_nodes, bitorder="little").astype(bool)
    return Families(np.full(len(parents), node), parents)


def legal(node: int, constraints: Constraints, part: slice = slice(None)) -> Bools:
    """Tell which families of a node, or some of them, the knowledge allows, in the order of its columns."""
    d = len(constraints.names)
    sets, bits = sets_of(d, node, part), 1 << np.arange(d)
    needed, possible = constraints.required[:, node] @ bits, constraints.allowed[:, node] @ bits
    few = np.bitwise_count(sets) <= constraints.max_parents[node]
    return np.asarray(few & (sets & ~possible == 0) & (sets & needed == needed), dtype=np.bool_)


def legal_rows(families: Families, constraints: Constraints) -> Indices:
    """Return the rows of a batch of families that the knowledge allows."""
    allowed, required = constraints.allowed.T[families.nodes], constraints.required.T[families.nodes]
    fits = ~(families.parents & ~allowed).any(axis=1) & (families.parents | ~required).all(axis=1)
    return np.flatnonzero(fits & (families.parents.sum(axis=1) <= constraints.max_parents[families.nodes]))


def count_legal(constraints: Constraints) -> int:
    """Return the number of families that the knowledge allows."""
    total = 0
    for node in range(len(constraints.names)):
        required = int(constraints.required[:, node].sum())
        free = int(constraints.allowed[:, node].sum()) - required
        room = min(free, int(constraints.max_parents[node]) - required)
        ways = 1
        for k in range(room + 1):
            total += ways
            ways = ways * (free - k) // (k + 1)
    return total


def tables_of(families: Families, evaluator: Evaluator, constraints: Constraints) -> FamilyTables:
    """Return the tables of some legal families, each once."""
    d, values = evaluator.score.n_nodes, evaluator.families(families)
    masks = families.parents @ (1 << np.arange(d))
    place = families.nodes, column(masks, families.nodes)
    local, price = np.zeros((d, 1 << (d - 1))), np.full((d, 1 << (d - 1)), -np.inf)
    local[place], price[place] = values, evaluator.score.family_price(families)
    return FamilyTables(local, price, len(families) == count_legal(constraints), len(families))


def all_tables(evaluator: Evaluator, constraints: Constraints) -> FamilyTables:
    """Return the tables of all legal families: by compiled kernels where there are some, else by the evaluator."""
    score, form = evaluator.score, kernel_form(evaluator.score)
    if form is None:
        return _by_evaluation(evaluator, constraints)
    if isinstance(form, RowForm):
        tables = _by_residuals(score, form, constraints)
    else:
        tables = _compiled(score, form, constraints)
    evaluator.charge(tables.n_families)
    return tables


def kernel_form(score: Score) -> TabledForm | None:
    """Return the form from which compiled kernels make the tables of a score; None: they do not."""
    form = score.compiled()
    if form is None or isinstance(form, BlockForm) or not form.tabled:
        return None
    if isinstance(form, RowForm) and form.n_nodes * sum(group.columns.size for group in form.groups) > MAX_RESIDUALS:
        return None
    return None if form.has_logs and least_residual(form) < LEAST_RESIDUAL else form


def compiled_work(score: Score) -> float | None:
    """Return about how many simple steps the compiled tables take; None: there are none for this score."""
    if score.n_nodes > MAX_NODES or (form := kernel_form(score)) is None:
        return None
    sets = float(1 << score.n_nodes)
    if isinstance(form, CountForm):
        return sets * float(sum(columns.shape[1] for columns in form.codes))
    if isinstance(form, RowForm):
        return sets / 2 * sum(group.columns.size for group in form.groups)
    return sets * score.n_nodes


def _by_evaluation(evaluator: Evaluator, constraints: Constraints) -> FamilyTables:
    d, count = evaluator.score.n_nodes, 0
    local, price = np.zeros((d, 1 << (d - 1))), np.full((d, 1 << (d - 1)), -np.inf)
    for node in range(d):
        families = families_of(d, node)
        rows = np.flatnonzero(legal(node, constraints))
        local[node, rows] = evaluator.families(families[rows])
        price[node, rows] = evaluator.score.family_price(families[rows])
        count += len(rows)
    return FamilyTables(local, price, True, count)


def _compiled(score: Score, form: GramForm | CountForm, constraints: Constraints) -> FamilyTables:
    d, count, deadline = score.n_nodes, 0, current()
    local, price = np.empty((d, 1 << (d - 1))), np.empty((d, 1 << (d - 1)))
    for members, values in _set_values(score, form, constraints):
        for node, part in product(members.tolist(), _pieces(1 << (d - 1))):
            deadline.check()
            usable, sets = legal(node, constraints, part), sets_of(d, node, part)
            prices = np.where(usable, _prices(score, form, node, part), -np.inf)
            found = _worth(form, node, np.bitwise_count(sets), values[sets], values[sets | (1 << node)])
            found *= _per_gain(score, form)[node]
            unknown = np.isnan(found)
            found[unknown], prices[unknown] = 0.0, -np.inf
            local[node, part], price[node, part] = found, prices
            count += int((usable & ~unknown).sum())
    return FamilyTables(local, price, True, count, rounding(score, form))


def _by_residuals(score: Score, form: RowForm, constraints: Constraints) -> FamilyTables:
    d, count, deadline = score.n_nodes, 0, current()
    possible = constraints.allowed.T @ (np.uint64(1) << np.arange(d, dtype=np.uint64))
    most = np.minimum(constraints.max_parents.astype(np.int64), form.most_parents)
    local, price = np.empty((d, 1 << (d - 1))), np.empty((d, 1 << (d - 1)))
    for number, group in enumerate(form.groups):
        own = form.group_of == number
        fits = group.in_core().all_fits(possible, np.where(own, most, -1), available())
        local[own] = np.nan_to_num(fits[own], copy=False) - form.log_scales[number, own, None]
    local *= _per_gain(score, form)[:, None]
    for node, part in product(range(d), _pieces(1 << (d - 1))):
        deadline.check()
        usable = legal(node, constraints, part)
        price[node, part] = np.where(usable, _prices(score, form, node, part), -np.inf)
        count += int(usable.sum())
    return FamilyTables(local, price, True, count, rounding(score, form))


def _prices(score: Score, form: TabledForm, node: int, part: slice) -> Floats:
    """Return the prices of families of a node: those of its numbers of parents, where all edges into it cost the same.

    ``part`` is in the order of its columns.
    """
    d = score.n_nodes
    if isinstance(form, CountForm) or form.prices.shape[1] > 1:
        return score.family_price(families_of(d, node, part))
    first = np.tri(d, d - 1, -1, dtype=bool)  # 0, 1, ... of the other nodes
    by_size = score.family_price(Families(np.full(d, node), np.insert(first, node, False, axis=1)))
    return by_size[np.bitwise_count(np.arange(*part.indices(1 << (d - 1))))]


def _per_gain(score: Score, form: TabledForm) -> Floats:
    """Return (d,) by what the worth of families is multiplied to give local values: 1 but for scores of one's own."""
    scale = form.gain if isinstance(form, CountForm) else form.rows if form.has_logs else 1.0
    return np.broadcast_to(np.asarray(scale / np.asarray(score.gain)), score.n_nodes)


def _pieces(count: int) -> list[slice]:
    return [slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]


def _set_values(score: Score, form: GramForm | CountForm, constraints: Constraints) -> Iterator[tuple[Indices, Floats]]:
    """Yield, for each group of nodes that share their rows, the function of sets behind their local scores."""
    for group in range(int(form.group_of.max()) + 1):
        members = np.flatnonzero(form.group_of == group)
        if isinstance(form, CountForm):
            limit = np.inf if form.ess else _most_cells(score, form, constraints)
            codes, repeats = np.ascontiguousarray(form.codes[group]), np.ascontiguousarray(form.repeats[group])
            levels = form.cardinalities.astype(np.int64)
            yield members, _core.cell_sums(codes, levels, repeats, form.ess or 0.0, limit, available())
            continue
        values = _core.log_determinants(np.ascontiguousarray(form.grams[group]))
        if form.constants is not None:
            for bit in range(form.n_nodes):
                view = values.reshape(-1, 2, 1 << bit)
                view[:, 1] += form.log_scales[group, bit]
        yield members, values


def _worth(
    form: GramForm | CountForm,
    node: int,
    sizes: npt.NDArray[np.uint8],  # of the parent sets
    without: Floats,  # the function of sets at the parents
    with_: Floats,  # and at the parents and the node
) -> Floats:
    """Return what all families of a node are worth: a log-likelihood, an evidence or minus a log variance."""
    difference = with_ - without
    if isinstance(form, CountForm):
        return difference
    if form.constants is not None and form.factors is not None:
        return np.asarray(form.constants[node, sizes] - form.factors[node, sizes] * difference - without / 2)
    residual = np.clip(difference, np.log(form.floor), 0.0)
    residual[sizes > form.most_parents[node]] = 0.0
    return np.asarray(-(form.own_scales[node] + residual))


def _most_cells(score: Score, form: CountForm, constraints: Constraints) -> float:
    """Return the largest table that a family worth its price can have (de Campos & Ji 2011).

    The log-likelihood is at most 0, so a family's share is at most minus its price. Where that lies below the share
    of the required parents alone, which may stand in for it in any DAG, the family is in no best DAG, and nor are its
    supersets: their price is higher still.
    """
    base = Families(np.arange(score.n_nodes), np.ascontiguousarray(constraints.required.T))
    shares = score.share(score.local(base), score.family_price(base))
    prior = 0.0 if score._prior is None else (score.evidence_scale or 1.0) * np.maximum(score._prior, 0.0).sum(axis=0)
    room = np.asarray(prior - shares + 2 * SKIP_MARGIN)
    with np.errstate(divide="ignore"):
        most = np.where(form.parameter_prices > 0, room / form.parameter_prices, np.inf)
    return float((most * form.cardinalities).max())


def least_residual(form: TabledForm) -> float:
    """Return the least share of its variance that any column keeps given all others."""
    shares = []
    for matrix in form.matrices:
        values, vectors = np.linalg.eigh(matrix)
        if values[0] <= np.finfo(float).eps:
            return 0.0
        shares.append(1.0 / ((vectors**2) / values).sum(axis=1).max())
    return float(min(shares))


def rounding(score: Score, form: TabledForm) -> float:
    """Return a bound on what rounding in the kernels can do to the score of a DAG."""
    d, unit = score.n_nodes, np.finfo(float).eps
    if isinstance(form, CountForm):
        return float(score.n_rows.sum() * 4 * d * unit * np.log(score.n_rows.max()))
    least = least_residual(form) if form.has_logs else min(float(np.linalg.eigvalsh(m)[0]) for m in form.matrices)
    return float(form.rows.sum() * 4 * d * unit / least)
