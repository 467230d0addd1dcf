"""Kernel matrices of Gaussian-process regressions on torch, and what all scores that are made of them share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.linalg.blas import dsymm
from torch import Tensor

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.errors import ScoreError, SettingsError
from drbo.scores.base import Relative, Score
from drbo.scores.families import Families, row_groups
from drbo.scores.gp.lapack import dpotrf, dpotri, dpotrs
from drbo.scores.options import check_numbers

#: One kernel matrix of more rows takes many seconds to factorise on a laptop, and a search needs thousands.
MAX_ROWS = 4_000
#: Matrices of the size of a kernel that are held at once for each kernel in work.
MATRICES = 7
#: Bytes of the kernel matrices in work at one time: the cache of a CPU core, a small part of a GPU.
CHUNK_BYTES = {"cpu": 2**23, "cuda": 2**30}
#: Kernels of families take a GPU as long as so many cores of a CPU.
GPU_CORES = 50
#: Families in one call on a CPU: the last bit of what is vectorised depends on what is computed together.
CPU_CELL = 4


@dataclass(frozen=True, eq=False)
class ParentSets:
    """Families sorted by their parents: one kernel matrix serves all children of a parent set."""

    parents: Bools  # (S, d)
    children: Indices  # (S, C); free places hold d
    row: Indices  # (m,) family r is the child children[row[r], column[r]]
    column: Indices  # (m,)

    @classmethod
    def of(cls, families: Families) -> "ParentSets":
        """Group a batch of families."""
        d = families.n_nodes
        packed, row = np.unique(np.packbits(families.parents, axis=1), axis=0, return_inverse=True)
        row = row.ravel()
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=len(packed))
        column = np.empty(len(families), dtype=np.intp)
        column[order] = np.arange(len(families)) - np.repeat(np.cumsum(counts) - counts, counts)
        children = np.full((len(packed), int(counts.max(initial=0))), d, dtype=np.intp)
        children[row, column] = families.nodes
        return cls(np.unpackbits(packed, axis=1, count=d).astype(bool), children, row, column)


class KernelData:
    """The rows that count for some nodes, on the device where kernels are built."""

    def __init__(self, inputs: Floats, outputs: Floats, device: str, max_bytes: float = np.inf) -> None:
        zeros = np.zeros((1, len(inputs)))  # column d: what free places point to
        self.inputs = torch.as_tensor(np.concatenate([(inputs - inputs.mean(axis=0)).T, zeros]), device=device)
        self.outputs = torch.as_tensor(np.concatenate([outputs.T, zeros]), device=device)
        self.n_rows = len(inputs)
        self.device = torch.device(device)
        self._step = max(1, int(min(CHUNK_BYTES[device], max_bytes / MATRICES) // (8 * self.n_rows**2)))
        self._scratch: dict[str, Tensor] = {}

    def scratch(self, name: str, count: int) -> Tensor:  # (count, n, n)
        """Return working memory under a name, the same at every call: fresh memory costs more than the arithmetic."""
        kept = self._scratch.get(name)
        if kept is None or len(kept) < count:
            shape = (count, self.n_rows, self.n_rows)
            kept = self._scratch[name] = torch.empty(shape, dtype=torch.float64, device=self.device)
        return kept[:count]

    def points(self, parents: Bools) -> Tensor:  # (B, d) -> (B, w, n)
        """Return the columns of parent sets, with zeros behind those of the smaller ones."""
        rows = np.arange(len(parents))
        index = Families(rows, parents).padded(rows, int(parents.sum(axis=1).max()))
        return self.inputs[np.minimum(index, parents.shape[1])]

    def squared_distances(self, parents: Bools) -> Tensor:  # (B, d) -> (B, n, n)
        """Return the squared distances of all rows, per parent set; valid until the next call."""
        points = self.points(parents)
        norms = points.square().sum(dim=1, keepdim=True)
        ones = torch.ones_like(norms)
        left = torch.cat([-2 * points, norms, ones], dim=1)
        right = torch.cat([points, ones, norms], dim=1)
        out = self.scratch("squared", len(parents))
        if out.is_cuda:
            return torch.bmm(left.transpose(1, 2), right, out=out).clamp_(min=0.0)
        for a, b, matrix in zip(left.numpy(), right.numpy(), out.numpy(), strict=True):
            np.matmul(a.T, b, out=matrix)
            np.maximum(matrix, 0.0, out=matrix)
        return out

    def targets(self, children: Indices) -> Tensor:  # (B, C) -> (B, n, C)
        """Return the columns of the children."""
        return self.outputs[children].transpose(1, 2)

    def chunks(self, count: int) -> Iterator[slice]:
        """Cut a number of kernel matrices into parts that fit the memory set aside; the deadline ends it."""
        deadline = current()
        for start in range(0, count, self._step):
            deadline.check()
            yield slice(start, min(start + self._step, count))


# On the CPU these call numpy and LAPACK in place: torch copies every matrix twice, and its threads wait for each other
# where other programs are running.
def rbf_kernel(squared: Tensor, widths: Tensor, out: Tensor) -> Tensor:
    """Write ``exp(-squared * width / 2)``, one width per matrix, into ``out`` (B, n, n)."""
    factor = -0.5 * widths[:, None, None]
    if out.is_cuda:
        return torch.mul(squared, factor, out=out).exp_()
    np.multiply(squared.numpy(), factor.numpy(), out=out.numpy())
    np.exp(out.numpy(), out=out.numpy())
    return out


def quadratic_form(left: Tensor, right: Tensor, weights: Tensor, out: Tensor) -> Tensor:
    """Return ``w' (left * right) w`` (B, C) of the columns w of ``weights`` (B, n, C); ``out`` is overwritten."""
    if out.is_cuda:
        return (weights * (torch.mul(left, right, out=out) @ weights)).sum(dim=1)
    np.multiply(left.numpy(), right.numpy(), out=out.numpy())
    applied = [dsymm(1.0, matrix.T, w) for matrix, w in zip(out.numpy(), weights.numpy(), strict=True)]
    return (weights * torch.as_tensor(np.stack(applied))).sum(dim=1)


def solve(
    kernel: Tensor,  # (B, n, n)
    noise: float,
    targets: Tensor,  # (B, n, C)
    work: Tensor,  # (B, n, n), overwritten
) -> tuple[Tensor, Tensor]:
    """Return the log determinants (B,) of ``kernel + noise I``, and its inverse times the targets (B, n, C)."""
    work.copy_(kernel).diagonal(dim1=1, dim2=2).add_(noise)
    log_determinant = factorize(work)
    if not log_determinant.isfinite().all():
        raise ScoreError("a kernel matrix is not positive definite", hint="use a larger noise variance")
    return log_determinant, solved(work, targets)


def factorize(matrices: Tensor) -> Tensor:
    """Replace the lower triangles of matrices (B, n, n) by their Cholesky factors; return the log determinants (B,).

    The rest of a matrix is left as it is. One that is not positive definite has the log determinant NaN.
    """
    current().check()
    if matrices.is_cuda:
        factor, failed = torch.linalg.cholesky_ex(matrices)
        matrices.copy_(factor).masked_fill_((failed > 0)[:, None, None], torch.nan)
    else:
        for matrix in matrices.numpy():
            if dpotrf(matrix) != 0:
                matrix[:] = np.nan
    return 2 * matrices.diagonal(dim1=1, dim2=2).log().sum(dim=1)


def solved(factors: Tensor, right: Tensor) -> Tensor:
    """Return the inverse of factorised matrices times ``right`` (B, n, C)."""
    if factors.is_cuda:
        return torch.cholesky_solve(right, factors)
    out = torch.empty_like(right)
    for matrix, columns, found in zip(factors.numpy(), right.numpy(), out.numpy(), strict=True):
        found[:] = dpotrs(matrix, columns)
    return out


def invert(factors: Tensor) -> Tensor:
    """Replace Cholesky factors by the lower triangles of the inverse matrices, zeros above; return them."""
    current().check()
    if factors.is_cuda:
        return factors.copy_(torch.cholesky_inverse(factors)).tril_()
    for matrix in factors.numpy():
        dpotri(matrix)
    return factors.tril_()


class KernelScore(Score):
    """What all scores with a Gaussian process share: their checks and the rows that count for each node."""

    kernels = True
    independence = "kci"

    def __init__(self, table: Statistics, *, device: str = "cpu", max_memory: float = 4.0, **options: Any) -> None:
        super().__init__(table, **options)
        check_numbers(table, self.name)
        if table.n_rows > MAX_ROWS:
            raise ScoreError(
                f"score {self.name} accepts at most {MAX_ROWS} rows, got {table.n_rows}: its cost grows with "
                "the cube of the rows",
                hint="use score='splines', which accepts any number of rows, or a random sample of the rows",
            )
        if device not in CHUNK_BYTES or (device == "cuda" and not torch.cuda.is_available()):
            raise SettingsError(f"device must be 'cpu', or 'cuda' if there is a GPU, got {device!r}")
        need = MATRICES * 8 * table.n_rows**2 / 2**30
        if need > max_memory:
            raise SettingsError(
                f"score {self.name} needs {need:.2g} GiB for {table.n_rows} rows, but max_memory is {max_memory:g} GiB",
                hint="raise max_memory, use a random sample of the rows, or use score='splines'",
            )
        self._table, self._max_bytes = table, max_memory * 2**30
        self.device = device
        self.cell = CPU_CELL if device == "cpu" else None
        self.batches = device != "cpu"
        self._groups: list[tuple[Floats, Floats]] = []
        self._group_of = np.zeros(self.n_nodes, dtype=np.intp)
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            values = table.values[rows]
            constant = members[np.ptp(values[:, members], axis=0) == 0]
            if len(constant):
                raise ScoreError(
                    f"column '{self.names[constant[0]]}' is constant in the rows without intervention on it"
                )
            self._groups.append(self._prepare(values))
            self._group_of[members] = number

    def local_work(self) -> float:
        """Return the steps of a few factorisations and kernels, on a GPU those of the time that they take there."""
        n = float(self.n_rows.mean())
        return (n**3 / 8 + 100 * n**2) / (GPU_CORES if self.batches else 1)

    def relatives(self) -> Sequence[Relative]:
        """Additive splines, which see all but interactions."""
        from drbo.scores.splines import SplineScore

        return (Relative(SplineScore(self._table, targets=self.targets), 0.0),)

    @classmethod
    def default_penalty(cls, table: Statistics, tested: bool) -> tuple[float | str, str]:
        """Return penalty 1, and why."""
        if tested:
            return super().default_penalty(table, tested)
        return 1.0, "penalty 1: the marginal likelihood of a Gaussian process already penalises flexibility"

    def _prepare(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the columns as inputs and as outputs of the regressions."""
        raise NotImplementedError

    def _parts(self, families: Families) -> Iterator[tuple[Indices, KernelData]]:
        """Yield the families with parents, by the rows that count for their nodes."""
        filled = families.parents.any(axis=1)
        for number, (inputs, outputs) in enumerate(self._groups):
            rows = np.flatnonzero(filled & (self._group_of[families.nodes] == number))
            if len(rows):
                yield rows, KernelData(inputs, outputs, self.device, self._max_bytes)
