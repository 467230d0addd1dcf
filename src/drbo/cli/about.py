"""What a report of a bug needs: versions, system, processors, memory and the settings that shape a computation.

Nothing here names a person, a machine or a folder, so that it can be pasted where anyone reads it.
"""

import locale
import os
import platform
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from drbo import __version__

#: Variables that change how many threads compute, or where.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "PYTHONHASHSEED")
#: The packages that drbo needs or can use.
PACKAGES = (
    *("numpy", "scipy", "pandas", "scikit-learn", "threadpoolctl", "networkx", "click", "rich", "jinja2"),
    *("torch", "matplotlib", "pyarrow", "python-calamine", "duckdb", "distributed", "causal-learn"),
    *("starlette", "uvicorn"),
)
ABSENT = "not installed"


def installation() -> str:
    """Return what ``drbo --version --verbose`` prints, a line each."""
    from drbo.machine.threads import available

    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    lines = [
        f"drbo {__version__}",
        f"python: {platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}",
        f"system: {system}",
        f"threads: {available()} on {os.cpu_count()} processors",
        f"memory: {_memory()}",
        f"encoding: {locale.getpreferredencoding(False)}, stdout {getattr(sys.stdout, 'encoding', None)}",
        f"compiled core: {_core()}",
        *(f"{name}: {os.environ[name]}" for name in VARIABLES if name in os.environ),
        *(f"{name}: {_version(name)}" for name in PACKAGES),
    ]
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ABSENT


def _memory() -> str:
    """Return the memory of the machine in words."""
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
    except (AttributeError, OSError, ValueError):  # not on Windows
        return "unknown"


def _core() -> str:
    """Return the file of the compiled core, or why it cannot be loaded."""
    try:
        core = import_module("drbo._core")
    except ImportError as error:
        return f"cannot be loaded: {error.msg.splitlines()[0]}"
    return os.path.basename(core.__file__ or "")
