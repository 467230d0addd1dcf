"""Collect every sentence that drbo shows to a person, so that all of them can be read in one go.

``python tests/sentences.py`` writes them to ``tests/sentences.txt``, grouped by module and in the order of the source:
help of commands and options, messages and hints of errors, warnings, notes, summaries, and the text of the report. Run
it after a change of any of them, and read what the change of the file shows.

A sentence is any string literal of two words or more, because most of them end up on a screen; docstrings count only
where they are the help of a command. A placeholder is shown as the expression that fills it.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "drbo"
LISTING = Path(__file__).with_name("sentences.txt")

_SENTENCE = re.compile(r"[^\W\d_]{2,}\W*\s\W*[^\W\d_]+")  # two words with a space between them
_TAG = re.compile(r"{#.*?#}|{%.*?%}|<!--.*?-->|<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL)
_SHOWN_ATTRIBUTE = re.compile(r'(?:aria-label|title)="([^"{]+)"')


def listing() -> str:
    """Return the text of ``tests/sentences.txt``."""
    groups = []
    for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.jinja")]):
        text = path.read_text(encoding="utf-8")
        found = list(of_module(text) if path.suffix == ".py" else of_template(text))
        if found:
            groups.append("\n".join([f"## {path.relative_to(SOURCE)}", *found]))
    return "\n\n".join(groups) + "\n"


def of_module(source: str) -> Iterator[str]:
    """Yield the sentences of a module of Python."""
    yield from _sentences(ast.parse(source))


def of_template(source: str) -> Iterator[str]:
    """Yield the texts of a Jinja template, and the labels that a screen reader speaks."""
    texts = [*_TAG.sub("\0", source).split("\0"), *_SHOWN_ATTRIBUTE.findall(source)]
    yield from (_one_line(text.strip()) for text in texts if _SENTENCE.search(text))


def _sentences(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr | ast.Constant):
        text = _text(node)
        if text is not None and _SENTENCE.search(text):
            yield _one_line(text)
        return
    docstring = _docstring(node)
    if docstring and _is_command(node):
        yield from (line for line in ast.get_docstring(node).splitlines() if line.strip("\b"))
    for name, field in sorted(ast.iter_fields(node), key=lambda item: item[0] != "decorator_list"):
        if name not in ("annotation", "returns"):
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST) and child is not docstring:
                    yield from _sentences(child)


def _text(node: ast.expr) -> str | None:
    """Return a literal with its placeholders as they stand in the source; None for what is not text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    assert isinstance(node, ast.JoinedStr)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else ast.unparse(ast.JoinedStr([part]))[2:-1]
        for part in node.values
    )


def _docstring(node: ast.AST) -> ast.stmt | None:
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[0]
    return None


def _is_command(node: ast.AST) -> bool:
    decorators = [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", [])]
    return any(decorator.startswith(("click.command", "click.group")) for decorator in decorators)


def _one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


if __name__ == "__main__":
    LISTING.write_text(listing(), encoding="utf-8")
