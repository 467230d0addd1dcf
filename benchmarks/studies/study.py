"""What a study is, and what several of them need."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from types import ModuleType
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

from benchmarks.parameters import Device
from benchmarks.rows import Row, commit


def best_device() -> Device:
    """Return the GPU, where there is one."""
    import torch  # not for a worker whose study has no use for it

    return "cuda" if torch.cuda.is_available() else "cpu"


@dataclass
class Cell:
    """A row that is measured only where the sources of this commit have none yet; a study may yield it as a row.

    Attributes
    ----------
    key : the columns that tell the row from others.
    measure : returns the other columns.
    row : the row, once it was measured or found.
    """

    key: Row
    measure: Callable[[], Row]
    row: Row = field(default_factory=dict)

    def settle(self, there: Iterable[Row]) -> bool:
        """Take the row from those that are there, or measure it; return whether it was measured."""
        now, wanted = commit(), {name: str(value) for name, value in self.key.items()}
        for row in there:
            if now and not now.endswith("+") and row.get("commit") == now and wanted.items() <= row.items():
                self.row = row
                return False
        self.row = {**self.key, **self.measure(), "commit": now}
        return True


class Study(NamedTuple):
    """A question, or one part of it.

    Attributes
    ----------
    run : yields rows, or cells; its parameters are the options of the command line. The runner adds machine, versions.
    file : name of the file of rows.
    key : columns that tell rows apart; a new row replaces the old one with the same key.
    quick : parameters of a run that takes seconds; None where there is none.
    """

    run: Callable[..., Iterator[Row | Cell]]
    file: str
    key: tuple[str, ...]
    quick: Mapping[str, Any] | None


def study(file: str, key: str, slow: bool = False, **quick: Any) -> Callable[[Any], Any]:
    """Declare a function that yields rows to be a part of the study that its module is; ``slow``: it is never quick."""

    def declare(run: Any) -> Any:
        run.study = Study(run, file, tuple(key.split()), None if slow else quick)
        return run

    return declare


def parts_of(module: ModuleType) -> dict[str, Study]:
    """Return the parts of a study by the names of their functions, in the order of the module."""
    return {name: value.study for name, value in vars(module).items() if hasattr(value, "study")}


def in_parallel(function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], workers: int) -> Iterator[Any]:
    """Yield the results in the order of the jobs; several processes have one thread each."""
    if workers == 1:
        yield from (function(*job) for job in jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        yield from pool.map(function, *zip(*jobs, strict=True))


def _one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"  # of torch, where it is imported later
    threadpool_limits(1)
