"""What ``--json`` prints, by command: every key with the type of its value.

A value is a JSON type; ``?`` allows null. A key that ends in ``?`` may be missing. Objects may have more keys than they
list: keys are added without a new version, and removed or changed only with one.
"""

from typing import Any

from drbo.cli.messages import SCHEMA_VERSION

NUMBER, TEXT, WHOLE, TRUTH = "number", "string", "integer", "boolean"
_TEXTS, _FILES = [TEXT], {"files": [TEXT]}
_EDGE = {"source": TEXT, "target": TEXT, "directed": TRUTH, "direction": TEXT, "ground": TEXT}
_RESULT = {
    "names": _TEXTS, "n_rows": WHOLE, "edges": [_EDGE], "cpdag_edges": [{"source": TEXT, "target": TEXT}],
    "score_name": TEXT, "score_options": "object", "score_equivalent": TRUTH, "score": NUMBER, "gap": "number?",
    "pruned_score": "number?", "pruner": TEXT, "found_by": TEXT, "upper_bound": "number?", "bound_valid_for": "string?",
    "reasons": _TEXTS, "fidelities": ["object"], "top": ["object"], "targets?": ["object"], "n_evals": WHOLE,
    "n_local": WHOLE, "seconds": NUMBER, "seed": WHOLE, "stopped": TEXT, "settings": "object", "data_hash": TEXT,
    "versions": "object", "arms?": ["object"], **_FILES,
}  # fmt: skip
_PAIRS = [_TEXTS]
#: The answer of each command.
SHAPES: dict[str, dict[str, Any]] = {
    "fit": _RESULT,
    "resume": _RESULT,
    "demo": _FILES,
    "check": {
        "n_rows": WHOLE, "n_columns": WHOLE, "n_checked": WHOLE, "is_usable": TRUTH,
        "columns": [{"name": TEXT, "holds": TEXT, "missing": NUMBER, "values": TEXT, "used_as": TEXT}],
        "problems": [{"column": TEXT, "text": TEXT, "remedy": TEXT, "blocks": TRUTH}],
        "remedies": {"drop": _TEXTS, "missing": TEXT, "types": "object", "na": _TEXTS}, "notes": _TEXTS,
        "findings": "array?", "roots": _TEXTS, "experiments": ["object"], "score_name": "string?", "reasons": _TEXTS,
        "command": "string?",
    },
    "report": _FILES,
    "export": {**_FILES, "n_open": WHOLE},
    "judge": {
        "names": _TEXTS, "n_edges": WHOLE, "n_rows": WHOLE, "score_name": TEXT, "beats_random": "boolean?",
        "informative": "boolean?", "falsified": "boolean?",
    },
    "effects": {
        "basis?": TEXT, "assumed?": TEXT, "n_rows?": WHOLE, "left_out?": TEXT, "effects?": ["object"], "source?": TEXT,
        "target?": TEXT, "level?": TEXT,
    },
    "next": "object",  # type: ignore[dict-item]
    "score": {
        "score_name": TEXT, "score_options": "object", "score": NUMBER, "n_edges": WHOLE,
        "nodes": [{"node": TEXT, "parents": _TEXTS, "local": NUMBER, "price": NUMBER, "share": "number?"}],
    },
    "compare": {"shd?": WHOLE, "missing?": "array", "extra?": "array"},
    "moments": {**_FILES, "n_rows": WHOLE, "n_dropped": WHOLE, "names": _TEXTS},
    "lag": {**_FILES, "n_rows": WHOLE, "names": _TEXTS},
    "simulate": {**_FILES, "n_rows": WHOLE, "names": _TEXTS, "n_edges": WHOLE, "seed": WHOLE},
    "datasets": {
        "datasets?": [{"name": TEXT, "n_rows": WHOLE, "n_nodes": WHOLE, "n_edges": WHOLE, "description": TEXT}],
        "name?": TEXT, "description?": TEXT, "source?": TEXT, "names?": _TEXTS, "edges?": _PAIRS, "files?": _TEXTS,
    },
    "init": _FILES,
    "studio": {"address": TEXT, "folder": TEXT},
    "schema": {"exit_codes": "object", "error": "object", "commands": "object"},
}  # fmt: skip
ERROR = {"error": TEXT, "hint": "string?", "column": "string?", "details": _TEXTS}


def json_schema(shape: Any) -> dict[str, Any]:
    """Return a shape in the words of JSON Schema."""
    if isinstance(shape, str):
        kind = shape.removesuffix("?")
        return {"type": kind if kind == shape else [kind, "null"]}
    if isinstance(shape, list):
        return {"type": "array", "items": json_schema(shape[0])}
    parts = {name.removesuffix("?"): json_schema(part) for name, part in shape.items()}
    return {"type": "object", "properties": parts, "required": [name for name in shape if not name.endswith("?")]}


def answer_schema(shape: Any) -> dict[str, Any]:
    """Return the schema of a whole answer, with its version."""
    whole = json_schema({} if shape == "object" else shape)
    whole["properties"] = {"schema": {"const": SCHEMA_VERSION}, **whole["properties"]}
    return whole | {"required": ["schema", *whole["required"]]}
