"""What a study is, and what several of them need."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, NamedTuple

import torch
from threadpoolctl import threadpool_limits

from benchmarks.parameters import Device
from benchmarks.rows import Row

DEVICE: Device = "cuda" if torch.cuda.is_available() else "cpu"


class Study(NamedTuple):
    """A question, or one part of it.

    Attributes
    ----------
    run : yields rows; its parameters are the options of the command line. The runner adds machine and versions.
    file : name of the file of rows.
    key : columns that tell rows apart; a new row replaces the old one with the same key.
    quick : parameters of a run that takes seconds; None where there is none.
    """

    run: Callable[..., Iterator[Row]]
    file: str
    key: tuple[str, ...]
    quick: Mapping[str, Any] | None


def in_parallel(function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    """Yield the results in the order of the jobs; several processes have one thread each."""
    if workers == 1:
        yield from (function(*job) for job in jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        yield from pool.map(function, *zip(*jobs, strict=True))


def _one_thread() -> None:
    torch.set_num_threads(1)
    threadpool_limits(1)
