"""Compiled work, spread over threads."""

from collections.abc import Callable
from itertools import pairwise
from threading import Thread
from typing import Any

import torch

#: Work below this many operations is done by one thread: starting another costs as much.
SMALL_WORK = 200_000


def in_threads(kernel: Callable[..., None], size: int, work: int, *arguments: Any) -> None:
    """Call ``kernel(first, last, *arguments)`` on parts of ``range(size)``, in as many threads as torch uses.

    The kernel must release the interpreter's lock.
    """
    count = max(1, min(torch.get_num_threads(), size, work // SMALL_WORK + 1))
    cuts = [size * part // count for part in range(count + 1)]
    others = [Thread(target=kernel, args=(first, last, *arguments)) for first, last in pairwise(cuts[1:])]
    for thread in others:
        thread.start()
    kernel(cuts[0], cuts[1], *arguments)
    for thread in others:
        thread.join()
