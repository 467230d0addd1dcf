"""A plain fit imports only what it uses."""

import json
import subprocess
import sys
from pathlib import Path

#: Third-party packages that a plain fit may import: its requirements, and what those import where it is installed.
ALLOWED = {
    "click", "drbo", "jinja2", "markupsafe", "numpy", "pandas", "scipy", "threadpoolctl",
    "dateutil", "narwhals", "pyarrow", "pytz", "six", "tzdata", "charset_normalizer", "cloudpickle", "psutil",
    "cython_runtime", "numexpr", "bottleneck", "sitecustomize",
}  # fmt: skip
PROBE = """
import json, sys
before = set(sys.modules)
import drbo
at_import = sorted(set(sys.modules) - before)
from drbo.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code
found = {name.partition(".")[0] for name in set(sys.modules) - before}
print("MODULES", json.dumps([at_import, sorted(found - set(sys.stdlib_module_names)), sorted(sys.modules)]))
"""


def _modules(*command: str) -> tuple[list[str], list[str], list[str]]:
    """Return the modules that 'import drbo' loads, the packages that a command needs, and all of its modules."""
    done = subprocess.run([sys.executable, "-c", PROBE, *command], capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("MODULES "))
    at_import, found, modules = json.loads(line.removeprefix("MODULES "))
    return at_import, found, modules


def test_a_plain_fit_imports_only_what_it_uses(chain: Path) -> None:
    at_import, found, modules = _modules("fit", str(chain), "-q", "-o", "out")
    assert {name.partition(".")[0] for name in at_import} <= {"drbo", *sys.stdlib_module_names}
    assert {name for name in found if not name.startswith("_")} <= ALLOWED
    absent = "torch matplotlib rich polars python_calamine sqlite3 distributed sklearn networkx"
    assert not set(absent.split()) & set(modules)
    slow = {f"scipy.{part}" for part in ("stats", "optimize", "interpolate", "spatial", "sparse")}
    assert not slow & set(modules)


def test_a_check_does_without_the_slowest_imports(chain: Path) -> None:
    _, found, modules = _modules("check", str(chain))
    assert not {"sklearn", "networkx", "torch", "rich"} & set(found)
    assert "scipy.stats" not in modules
