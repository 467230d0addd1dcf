"""The schema of one command, or of all."""

import json

from tests.cli.conftest import Run


def test_one_command(run: Run) -> None:
    answer = json.loads(run("schema", "datasets").stdout)
    assert list(answer["commands"]) == ["datasets"]
    assert answer["commands"]["datasets"]["properties"]["schema"] == {"const": answer["schema"]}
    assert answer["exit_codes"] == {"0": "result", "1": "failure", "2": "usage or bad data", "130": "interrupted"}


def test_a_command_that_does_not_exist(run: Run) -> None:
    done = run("schema", "fitt")
    assert (done.exit_code, "did you mean 'fit'?" in done.stderr) == (2, True)
