"""A plain fit imports only what it uses."""

import json
import subprocess
import sys
from pathlib import Path

#: Third-party packages that a plain fit may import: its requirements, and what those import where it is installed.
ALLOWED = {
    "click", "drbo", "jinja2", "markupsafe", "networkx", "numpy", "pandas", "scipy", "sklearn", "threadpoolctl",
    "dateutil", "joblib", "narwhals", "pyarrow", "pytz", "six", "tzdata", "charset_normalizer", "cloudpickle", "psutil",
    "cython_runtime", "numexpr", "bottleneck", "sitecustomize",
}  # fmt: skip
PROBE = """
import json, sys
before = set(sys.modules)
import drbo
at_import = sorted(set(sys.modules) - before)
from drbo.cli import main
try:
    main(["fit", sys.argv[1], "-q", "--max-evals", "5", "-o", "out"])
except SystemExit as end:
    assert not end.code
found = {name.partition(".")[0] for name in set(sys.modules) - before}
print("MODULES", json.dumps([at_import, sorted(found - set(sys.stdlib_module_names)), sorted(sys.modules)]))
"""


def test_a_plain_fit_imports_only_what_it_uses(chain: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PROBE, str(chain)], capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("MODULES "))
    at_import, found, modules = json.loads(line.removeprefix("MODULES "))
    assert {name.partition(".")[0] for name in at_import} <= {"drbo", *sys.stdlib_module_names}
    assert {name for name in found if not name.startswith("_")} <= ALLOWED
    for absent in ("torch", "matplotlib", "rich", "polars", "python_calamine", "sqlite3", "distributed"):
        assert absent not in modules, absent
