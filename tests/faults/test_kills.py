"""A search that is killed goes on as if it had never stopped."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_searches_go_on():
    program = "from tests.faults.campaign import kills; print(sum(row['failed'] for row in kills(1, seed=5)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.strip() == "0", done.stdout + done.stderr
