"""The program as a whole: help, version, exit codes, errors, streams."""

import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

import drbo
from drbo.cli import Program, main
from drbo.errors import DataError
from tests.forked import forked

Run = Callable[..., Result]

COMMANDS = ("fit", "demo", "check", "score", "compare", "simulate", "datasets")


def _program(error: BaseException) -> Program:
    """A program whose only command raises this error."""

    def fail() -> None:
        raise error

    program = Program(params=[click.Option(["--debug"], is_flag=True)])
    program.add_command(click.Command("fail", callback=fail))
    return program


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_names_every_command_in_order(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.exit_code == 0
    assert done.stderr == ""
    places = [done.stdout.index(f"\n  {command} ") for command in COMMANDS]
    assert places == sorted(places)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_explains_every_option(run: Run, command: str) -> None:
    done = run(command, "--help")
    assert done.exit_code == 0
    for parameter in main.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{command} {parameter.opts}"


def test_help_loads_no_heavy_library() -> None:
    heavy = ("torch", "numpy", "pandas", "sklearn", "scipy", "matplotlib", "rich", "networkx")
    code = f"import sys, drbo.cli; print([name for name in {heavy!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_version_by_module() -> None:
    done = subprocess.run([sys.executable, "-m", "drbo", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"drbo {drbo.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("fti",), "no such command 'fti'", "see '"),
        (("fit",), "missing argument 'DATA'", "fit --help'"),
        (("fit", "x.csv", "--bogus"), "no such option", "fit --help'"),
        (("fit", "x.csv", "--max-evals", "0"), "'--max-evals'", "fit --help'"),
        (("fit", "x.csv", "--time-limit", "soon"), "'--time-limit': a time must look like 60s", "fit --help'"),
        (("score", "x.csv"), "missing argument 'GRAPH'", "score --help'"),
    ],
)
def test_misuse_is_an_error_and_a_hint(run: Run, words: tuple[str, ...], message: str, hint: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert done.stdout == ""
    error, way_out = done.stderr.splitlines()
    assert error.startswith("error: ")
    assert message in error
    assert way_out.startswith("hint: ")
    assert hint in way_out


def test_bad_data_exits_with_2() -> None:
    done = CliRunner().invoke(_program(DataError("column 'a' is odd", hint='use on_constant="drop"')), ["fail"])
    assert done.exit_code == 2
    assert done.stderr == "error: column 'a' is odd\nhint: use --set on_constant=drop\n"


def test_an_unexpected_error_is_one_line_without_a_traceback() -> None:
    done = CliRunner().invoke(_program(ZeroDivisionError("oops")), ["fail"])
    assert done.exit_code == 1
    error, hint = done.stderr.splitlines()
    assert error == "error: internal error: ZeroDivisionError: oops"
    assert "--debug" in hint


def test_debug_shows_where_an_error_comes_from() -> None:
    done = CliRunner().invoke(_program(ZeroDivisionError("oops")), ["--debug", "fail"])
    assert done.exit_code == 1
    assert "Traceback" in done.stderr
    assert "in fail" in done.stderr
    assert "error: internal error: ZeroDivisionError: oops" in done.stderr


def test_an_interrupt_outside_a_search_exits_with_130() -> None:
    done = CliRunner().invoke(_program(KeyboardInterrupt()), ["fail"])
    assert done.exit_code == 130
    assert done.stderr.strip() == "error: interrupted before there was a result"


@pytest.mark.filterwarnings("default")
def test_a_warning_is_a_line() -> None:
    program = Program()
    program.add_command(click.Command("warn", callback=lambda: warnings.warn("a\nlong story", stacklevel=1)))
    done = CliRunner().invoke(program, ["warn"])
    assert (done.exit_code, done.stderr) == (0, "warning: a long story\n")


def test_a_closed_pipe_ends_the_program_without_noise() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "drbo", "datasets"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


FAST = "--max-evals 12 --set batch_size=4 --set n_candidates=50 -q"


def _many(commands: Sequence[str], limits: Sequence[int] = ()) -> tuple[str, str]:
    """Run commands in one process; return their exit codes, and what they told. Limits are on the size of files."""

    def work() -> None:
        codes, hard = list[object](), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for words, limit in zip_longest(commands, limits, fillvalue=hard):
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
            try:
                main(str(words).split(), prog_name="drbo")
            except SystemExit as end:
                codes.append(end.code)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        print(codes)

    done = forked(work)
    assert done.code == 0, done.err
    return done.out.splitlines()[-1], done.err


def _shell(words: str) -> subprocess.CompletedProcess[str]:
    """Run the program with the streams that a shell gives it."""
    return subprocess.run(
        ["sh", "-c", words.replace("drbo", f"{sys.executable} -m drbo")], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("drbo datasets >&-", "the result cannot be printed: stdout is closed"),
        ("drbo datasets >/dev/full", "the result cannot be printed: No space left on device"),
        ("drbo simulate asia --rows 9 >&-", "the result cannot be printed: stdout is closed"),
        ("drbo simulate asia --rows 9 >/dev/full", "the result cannot be printed: No space left on device"),
        ("drbo --help >/dev/full", "the output: No space left on device"),
        ("drbo check absent.csv >&- <&-", "file 'absent.csv' does not exist"),
    ],
)
def test_output_that_goes_nowhere_is_told(folder: Path, words: str, message: str) -> None:
    done = _shell(words)
    assert done.returncode == (2 if "absent" in words else 1)
    assert done.stderr.splitlines()[0] == f"error: {message}"
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_the_work_goes_on_where_talk_goes_nowhere(chain: Path, where: str) -> None:
    assert _shell(f"drbo fit absent.csv {where}").returncode == 2
    done = _shell(f"drbo fit {chain} {FAST.replace('-q', '')} {where}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 variables, 200 rows" in done.stdout


def test_a_result_is_saved_with_all_streams_closed_and_nothing_else_gets_into_its_files(chain: Path) -> None:
    assert _shell(f"drbo fit {chain} {FAST} -o run <&- >&- 2>&-").returncode == 1  # it could not be printed
    assert drbo.Result.load("run").table.n_rows == 200
    assert Path("run/report.html").read_text().startswith("<!doctype html>")


@pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")
def test_a_limit_on_the_size_of_files_is_named(chain: Path) -> None:
    limits = [1_024, 15_360, 30_720]  # bytes; too low for the data, the picture, the report
    words = [f"fit {chain} {FAST} -o run{limit}" for limit in limits]
    codes, words_told = _many(words, limits)
    assert codes in ("[2, 1, 1]", "[1, 1, 1]")
    told = words_told.split("error: ")[1:]
    assert len(told) == len(limits)
    for each in told:
        assert "File too large" in each
        assert "hint: the file-size limit is too low: see 'ulimit -f'" in each
        assert ".svg" not in each.partition("hint")[2]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_names_of_files_that_are_no_utf8(chain: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.csv")
    chain.rename(odd)
    accepted = [
        f"fit {odd} {FAST} -o {odd[:-4]}",
        *(f"resume {odd[:-4]} -q", f"check {odd}", f"report {odd[:-4]}", f"export {odd[:-4]} {odd[:-4]}.dot"),
        *(f"lag {odd} -o {odd[:-4]}-lag.csv", f"init {odd[:-4]}.toml"),
    ]
    refused = [
        *(f"init x.toml --data {odd}", f"fit {odd[:-5]}", f"fit {odd} --set start={odd}"),
        *(f"fit {odd} --knowledge {odd}", f"fit {odd} --require {odd}"),
    ]
    codes, told = _many([*accepted, *refused])
    assert codes == str([0] * len(accepted) + [2] * len(refused))
    assert "internal error" not in told
    call = drbo.Result.load(odd[:-4]).call
    assert "fit $'caf\\xe9.csv' --max-evals 12" in call
    words = subprocess.run(["bash", "-c", call.replace("drbo", r"printf '%s\n'", 1)], capture_output=True).stdout
    assert os.fsdecode(words).split() == accepted[0].split()[:-3]  # as a shell reads them, but for -q -o


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_only_on_a_terminal_that_wants_it(folder: Path, variables: dict[str, str], coloured: bool) -> None:
    import pty

    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "drbo", "fit", "absent.csv"]
    code = subprocess.run(command, stderr=slave, env=environment | variables, cwd=folder).returncode
    os.close(slave)
    text = os.read(master, 10_000).decode()
    os.close(master)
    assert code == 2
    assert ("\x1b[" in text) is coloured
    assert "file 'absent.csv' does not exist" in text
