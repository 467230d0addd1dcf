"""The command and the Python code that repeat what the page of a studio shows."""

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from drbo.cli.lists import as_list
from drbo.cli.output import write

if TYPE_CHECKING:
    from drbo.studio.said import Said

#: Names that the options of knowledge cannot carry, because they separate names by these.
AWKWARD = re.compile(r"[,;]|->|^\s|\s$|\A-")


def fit_words(table: str, said: "Said", folder: Path) -> list[str]:
    """Return the words of the fit that the statements ask for; knowledge about awkward names goes into a file."""
    words = ["drbo", "fit", table]
    for option, text in (
        ("--drop", as_list(said.drop)),
        ("--types", as_list(f"{name}={kind}" for name, kind in said.types)),
        ("--na", as_list(said.na)),
        ("--groups", said.groups),
        ("--outcome", said.outcome),
    ):
        words += [option, text] if text else []
    words += [word for name in said.randomised for word in ("--randomised", name)]
    words += ["--missing", said.missing] if said.missing != "error" else []
    forbidden, names = said.knowledge.forbidden, [*said.roots, *(name for tier in said.tiers for name in tier)]
    names += [name for pair in (*forbidden, *said.require) for name in pair]
    if any(AWKWARD.search(name) for name in names):
        return [*words, "--knowledge", str(_knowledge_file(said, folder))]
    for option, pairs in (("--forbid", forbidden), ("--require", said.require)):
        words += [word for a, b in pairs for word in (option, f"{a}->{b}")]
    words += ["--tiers", ";".join(",".join(tier) for tier in said.tiers)] if said.tiers else []
    return words + [word for name in said.roots for word in ("--root", name)]


def _knowledge_file(said: "Said", folder: Path) -> Path:
    """Write the knowledge into a file that is named by its content, so that later edits leave it as it is."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in said.knowledge.to_mapping().items()]
    content = "\n".join([*lines, ""]).encode()
    path = folder / f"knowledge-{hashlib.sha256(content).hexdigest()[:12]}.toml"
    if not path.exists():
        write(path, content)
    return path


def python_code(table: str, said: "Said") -> str:
    """Return the Python code of the same fit."""
    known, policy = said.knowledge.to_mapping(), []
    policy += [f"missing={said.missing!r}"] if said.missing != "error" else []
    policy += [f"types={dict(said.types)!r}"] if said.types else []
    policy += [f"na={said.na!r}"] if said.na else []
    parts = ["random_state=0"]
    parts += (
        [f"knowledge=Knowledge({', '.join(f'{name}={value!r}' for name, value in known.items())})"] if known else []
    )
    parts += [f"design={said.design!r}"] if repr(said.design) != "Design()" else []
    parts += [f"policy=DataPolicy({', '.join(policy)})"] if policy else []
    names = ["DrBO", *(word for word in ("DataPolicy", "Design", "Knowledge") if any(word in part for part in parts))]
    drop = f", drop={list(said.drop)!r}" if said.drop else ""
    return (
        f"from drbo import {', '.join([*names, 'read_table'])}\n\n"
        f"table = read_table({table!r}{drop})\n"
        f"model = DrBO({', '.join(parts)}).fit(table)\n"
    )
