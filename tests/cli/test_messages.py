"""What is printed cannot disturb a terminal, and hints speak of options."""

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drbo.cli.messages import as_options, say_error, show, wrapped


@pytest.mark.parametrize("text", ["\x1b]0;title\x07", "a\rb", "a\x9bb", "\u202edrow", "\ud800", "a\nhint: b"])
def test_an_error_about_a_hostile_name_stays_on_its_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say_error(f"column '{text}' is constant", hint=f"drop '{text}'")
    lines = capsys.readouterr().err.split("\n")
    assert [line.partition(":")[0] for line in lines] == ["error", "hint", ""]
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (
            'on_collinear="drop", or keep it with on_collinear="keep"',
            "--set on_collinear=drop, or keep it with --set on_collinear=keep",
        ),
        ("use score='auto', or encode it", "use --score auto, or encode it"),
        ("use device='auto' or 'cpu'", "use --set device=auto"),
        ("or read the file with header=False", "or read the file with --read header=false"),
        ("pandas.read_csv(path, sep=';', decimal=',')", "pandas.read_csv(path, sep=';', decimal=',')"),
    ],
)
def test_hints_name_options(hint: str, expected: str) -> None:
    assert as_options(hint) == expected


@given(st.lists(st.text(alphabet="ab ", max_size=60), max_size=4), st.integers(20, 60))
def test_wrapping_keeps_every_word_within_the_width(lines: list[str], width: int) -> None:
    text = "\n".join(lines)
    done = wrapped(text, width)
    assert done.split() == text.split() or any(len(word) > width // 2 for word in text.split())
    assert "".join(done.split()) == "".join(text.split())
    assert all(len(line) <= width for line in done.split("\n"))


def test_text_is_not_wrapped_where_it_fits() -> None:
    assert wrapped("a   b\n\n  c", 80) == "a   b\n\n  c"


def test_a_result_keeps_its_lines_and_loses_its_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    show("two\nlines \x1b[2J")
    assert capsys.readouterr().out == "two\nlines \\x1b[2J\n"


def test_messages_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say_error("wrong")
    click.echo("data")
    assert capsys.readouterr() == ("data\n", "error: wrong\n")
