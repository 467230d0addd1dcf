"""The bar of a fit on a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

Fast = tuple[str, ...]


def _read_all(terminal: int) -> str:
    """Return all that is written to a pseudo terminal until the other side is closed."""
    parts = []
    try:
        while part := os.read(terminal, 10_000):
            parts.append(part)
    except OSError:  # how Linux says that it is closed
        pass
    os.close(terminal)
    return b"".join(parts).decode()


WARNING_SCORE = """
import warnings
class Score:
    def __init__(self, table):
        warnings.warn("take care")
    def local_one(self, node, parents):
        return -float(len(parents))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_the_bar_is_drawn_on_stderr_and_leaves_warnings_and_result_alone(chain: Path, fast: Fast) -> None:
    import pty

    Path("careful.py").write_text(WARNING_SCORE)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "drbo", "fit", str(chain), "--score", "careful:Score", *fast]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environment, text=True) as process:
        os.close(slave)
        seen = _read_all(master)
        out, _ = process.communicate()
    assert process.returncode == 0
    assert out.startswith("4 variables, 200 rows")
    assert "\x1b" not in out
    assert "━━━" in seen
    assert "of 30 evaluations, best score" in seen
    assert "\x1b[2Kwarning: take care\r\n" in seen  # on a line from which the bar was removed
    assert seen.endswith("\x1b[2K")  # and removed at the end
    assert "\x1b[3" not in seen  # no colour was wanted
