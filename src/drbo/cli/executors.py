"""Where a command computes: in this process, in worker processes on this machine, or on a Dask cluster."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

import click

from drbo.deadline import current
from drbo.errors import SettingsError, WorkerError
from drbo.machine.threads import processors

F = TypeVar("F", bound=Callable[..., Any])

DASK_SECONDS = 15  # to reach a scheduler
LOCAL = "local"  # as many processes as there are processors


def workers(word: str) -> int | str:
    """Return a number of processes, or the address of a Dask scheduler.

    Examples
    --------
    >>> workers("4"), workers("host:8786")
    (4, 'host:8786')
    """
    if word == LOCAL:  # no cluster: a scheduler listens, and runs whatever another user of the machine sends to it
        return processors()
    if ":" in word:
        return word
    if not word.isdecimal() or int(word) < 1:
        raise click.BadParameter(f"give a number of processes, host:port of a Dask scheduler, or {LOCAL}; got {word!r}")
    return int(word)


def worker_option(command: F) -> F:
    """Add --workers."""
    return click.option(
        "--workers",
        type=workers,
        metavar="N|ADDRESS",
        help="Worker processes for expensive local scores, for resamples, and to read tables piece by piece: a number, "
        f"or '{LOCAL}' for one per processor; or host:port of the scheduler of a Dask cluster.",
    )(command)


@contextmanager
def executor_for(workers: int | str | None) -> Iterator[Executor | None]:
    """Yield the executor that :func:`worker_option` asks for; None: this process."""
    if isinstance(workers, str):
        with _client(workers) as client:
            yield client.get_executor(pure=False)
    elif workers is not None:
        from drbo.search.evaluation.workers import WorkerPool

        pool, late = WorkerPool(workers), True
        try:
            yield pool
            late = current().over()
        finally:  # what is under way when the time is over ends with the program
            pool.shutdown(wait=not late, cancel_futures=late)
    else:
        yield None


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise SettingsError(
            f"--workers {address} needs Dask, which is not installed", hint="pip install 'drbo[dask]'"
        ) from error
    # What goes wrong is told once, by drbo: Dask's own log would tell it again for every worker.
    logging.getLogger("distributed").setLevel(logging.CRITICAL + 1)
    _check_certificates(distributed, address)
    try:
        client = distributed.Client(address=address, timeout=DASK_SECONDS, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise WorkerError(
            f"no Dask scheduler answers at '{address}': {error}",
            hint="check that the scheduler is running and that the address is right",
        ) from error
    try:
        yield client
    finally:
        client.close()


def _check_certificates(distributed: Any, address: str) -> None:
    """Refuse a TLS address without usable certificates: Dask's client would fail late and hang when it is closed."""
    if not address.startswith("tls://"):
        return
    hint = "set distributed.comm.tls in Dask's configuration; docs/guide/scaling-out.md lists the variables"
    try:
        context = distributed.Security().get_connection_args("client").get("ssl_context")
    except OSError as error:
        raise SettingsError(f"the TLS certificates for '{address}' cannot be read: {error}", hint=hint) from error
    if context is None:
        raise SettingsError(f"'{address}' requires TLS certificates, but Dask's configuration names none", hint=hint)
