"""The commands of a click program as sections of a page: what ``--help`` says, with examples and options."""

import inspect
from importlib import import_module
from textwrap import dedent
from typing import Any

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

VERBATIM = "\b\n"  # click's mark of a paragraph that is not wrapped


class Commands(SphinxDirective):
    """``commands`` with the place of a group, such as ``drbo.cli:main``: a section for each of its commands."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        group = getattr(import_module(module), name)
        top = click.Context(group, info_name="drbo")
        return [self._section(group.get_command(top, word), top) for word in group.list_commands(top)]

    def _section(self, command: click.Command, top: click.Context) -> nodes.section:
        context = click.Context(command, info_name=command.name, parent=top)
        title = f"drbo {command.name}"
        section = nodes.section(ids=[title.replace(" ", "-")], names=[title])
        section += nodes.title("", title)
        section += _block(" ".join([context.command_path, *command.collect_usage_pieces(context)]), "text")
        for part in inspect.cleandoc(command.help or "").split("\n\n"):
            section += _paragraph(part)
        section += _options(command, context)
        self.state.document.note_implicit_target(section, section)
        return section


def _paragraph(part: str) -> list[nodes.Node]:
    if not part.startswith(VERBATIM):
        return [nodes.paragraph("", " ".join(part.split()))]
    head, _, rest = part.removeprefix(VERBATIM).partition("\n")
    return [nodes.paragraph("", "", nodes.strong("", head)), _block(dedent(rest), "console")]


def _block(text: str, language: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language)


def _options(command: click.Command, context: click.Context) -> nodes.definition_list:
    entries = nodes.definition_list(classes=["options"])
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record and isinstance(option, click.Option) and "--help" not in option.opts:
            entries += nodes.definition_list_item(
                "",
                nodes.term("", "", nodes.literal("", record[0])),
                nodes.definition("", nodes.paragraph("", record[1])),
            )
    return entries


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
