"""Help with the options of a command under headings, and a hint for options that were renamed."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from drbo.cli.pairs import OTHERS

#: What is typed today in place of options of earlier versions.
MOVED = {
    **{f"--{name}": f"--read {name}=VALUE" for name in ("separator", "decimal", "encoding", "sheet")},
    "--no-header": "--read header=false",
    "--max-input": "--read max_input=SIZE",
    "--stream": "--read stream=true",
    "--penalty": "--score-option penalty=X",
    "--min-strength": "--score-option min_strength=S",
    "--no-other-targets": "--score-option others=none",
    "--drift": "--score-option drift=true",
    **{f"--{name.replace('_', '-')}": f"--set {name}=VALUE" for name in OTHERS},
    "--exact": "--set exact=on",
    "--no-exact": "--set exact=off",
    "--independent-rows": "--groups none",
    "--resampling": "--bootstrap KIND:N",
    "--clusters": "--bootstrap cluster=COLUMN:N",
    "--dask": "--workers ADDRESS",
    "--leaf": "--knowledge FILE with leaves = [...]",
    "--context": "--knowledge FILE with context = [...]",
    "--max-parents": "--knowledge FILE with max_parents = N",
    "--forbid-within-tiers": "--knowledge FILE with forbid_within_tiers = true",
}


def moved_hint(error: click.UsageError) -> str | None:
    """Return what to type in place of an option that was renamed; None: it was not, or not in this command."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.option_name not in MOVED:
        return None
    way = MOVED[error.option_name]
    known = [word for parameter in error.ctx.command.params for word in parameter.opts]
    return f"use {way}" if way.split()[0] in known else None


class HeadedCommand(click.Command):
    """A command whose options stand under headings; those that no heading names stand under the last one."""

    def __init__(self, *arguments: Any, headings: Mapping[str, Sequence[str]], **extra: Any) -> None:
        super().__init__(*arguments, **extra)
        self.headings = headings

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, a section for each heading."""
        places = {name: heading for heading, names in self.headings.items() for name in names}
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in self.headings}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections[places.get(parameter.name or "", list(sections)[-1])].append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
