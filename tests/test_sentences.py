"""The list of all sentences is up to date, and its collector finds every kind of them."""

from tests import sentences

COMMAND = '''
"""A module."""

@click.command(short_help="Cut a table.")
@click.option("--rows", help="How many rows.")
def cut(rows: "a type hint", kind: str = "csv"):
    """Cut the table.

    \\b
    Example:
      drbo cut
    """
    def _inner():
        """Not shown to anyone."""
    if rows < 0:
        raise DataError(f"rows must be at least 0, got {rows!r}",
                        hint="leave "
                             f"{', '.join(NAMES)} out")
'''

TEMPLATE = """
{# a comment for us #}<style>p { color: red }</style>
<p title="Two words">{% if a %}The graph has {{ n }} edges.{% endif %}</p><b>one</b>
"""


def test_the_list_is_up_to_date():
    current = sentences.LISTING.read_text(encoding="utf-8")
    assert current == sentences.listing(), "run 'python tests/sentences.py' and read what it changes"


def test_help_messages_and_hints_are_found_but_no_docstrings_and_annotations():
    assert list(sentences.of_module(COMMAND)) == [
        "Cut the table.",
        "Example:",
        "  drbo cut",
        "Cut a table.",
        "How many rows.",
        "rows must be at least 0, got {rows!r}",
        "leave {', '.join(NAMES)} out",
    ]


def test_texts_and_labels_of_templates_are_found():
    assert list(sentences.of_template(TEMPLATE)) == ["The graph has {{ n }} edges.", "Two words"]
