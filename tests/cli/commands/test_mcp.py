"""``drbo mcp`` as a command: the talk itself is tested in tests/studio/test_mcp.py."""

from click.testing import CliRunner

from drbo.cli import main


def test_an_empty_input_ends_it_and_stdout_holds_nothing_else(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["mcp"], input="")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "files of this folder alone" in done.stderr
