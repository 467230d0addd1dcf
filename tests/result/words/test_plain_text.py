"""Text that cannot disturb a terminal, and tables that line up."""

from hypothesis import given
from hypothesis import strategies as st

from drbo.result.words.plain_text import plain, table


@given(st.text())
def test_plain_text_prints_and_keeps_what_prints(text: str) -> None:
    safe = plain(text)
    assert safe.isprintable()
    if text.isprintable():
        assert safe == text


def test_a_table_lines_up_whatever_its_names() -> None:
    lines = table(["node", "local", "about"], [["a\tb", "1.5", "x"], ["long name", "-10.25", ""]], align="lrl").split(
        "\n"
    )
    assert lines == ["  node        local  about", "  a\\tb          1.5  x", "  long name  -10.25"]
