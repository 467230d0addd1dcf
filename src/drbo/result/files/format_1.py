"""Reads the result files of version 0.1 as if they had been written in the present format."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from drbo.errors import ResultError
from drbo.settings import PAPER_NAMES, PART_NAMES

#: Members of result.npz: what they are called now, and what they were called.
ARRAYS = {
    **{name: name for name in ("dag", "weights", "standardised_weights")},
    **{"search.dag": "searched_dag", "search.local": "local", "search.price": "price"},
    **{f"search.trace.{name}": f"trace_{name}" for name in ("n_evals", "n_local", "seconds", "best")},
    **{f"claims.margins.{name}": f"margin_{name}" for name in ("removed", "reversed")},
    "claims.posterior": "posterior",
    **{f"confidence.{name}": f"{name}_frequency" for name in ("directed", "undirected", "path")},
}
ALWAYS = ("dag", "searched_dag", "local", "price", "trace_n_evals", "trace_n_local", "trace_seconds", "trace_best")
#: Scores whose local values were better if lower.
LOWER_WAS_BETTER = ("bic-ev", "bic-nv", "gp-ev", "gp-nv", "mixed", "splines")
OBJECTS = ("insight", "preflight", "resampling", "settings")
LISTS = ("names", "reasons", "optional_arrays")


def turn_local(arrays: dict[str, Any], scoring: dict[str, Any]) -> None:
    """Change the sign of local values that were better if lower."""
    if scoring.get("name") in LOWER_WAS_BETTER and "search.local" in arrays:
        arrays["search.local"] = -arrays["search.local"]


def translated(content: dict[str, Any], path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the content of a result.json as it would be written now, and the old names of the arrays."""
    for kind, names in ((dict, OBJECTS), (list, LISTS)):
        for name in names:
            if type(content.get(name)) is not kind:
                raise ResultError(f"{path}: '{name}' must be {kind.__name__}, got {content.get(name)!r:.80}")

    def part(*names: str) -> dict[str, Any]:
        return {name: content[name] for name in names if name in content}  # what is missing is noticed later

    present = [new for new, old in ARRAYS.items() if old in ALWAYS or old in content["optional_arrays"]]
    insight, resampled = content["insight"], "confidence.directed" in present
    margins = {"exact": insight.get("exact", False)} if "claims.margins.removed" in present else None
    renamed = {"score_name": "name", "score_options": "options", "score_equivalent": "equivalent"}
    new = part("names", "pruned_score", "pruner", "reasons", "knowledge", "call") | {
        **part("format", "version", "trace_length", "sha256"),
        "arrays": present,
        "scoring": {renamed[key]: value for key, value in part(*renamed).items()}
        | {key: insight[key] for key in ("assumption",) if key in insight},
        "search": part("score", "found_by", "stopped", "n_evals", "n_local", "seconds") | {"trace": {}},
        "proof": insight.get("certificate") or None,
        "claims": {
            "margins": margins,
            "classes": insight.get("top", []),
            "over": insight.get("over", ""),
            "prior": insight.get("prior", ""),
        },
        "confidence": {"names": content["names"], **content["resampling"]} if resampled else None,
        "table": part("n_rows") | {"sha256": content.get("data_hash", ""), "audit": content["preflight"]},
        "provenance": part("seed", "versions")
        | {"settings": renamed_settings(content["settings"], map(str, content["reasons"]))},
    }
    return new, ARRAYS


def renamed_settings(recorded: Mapping[str, Any], reasons: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a result of version 0.1 under their present names.

    Version 0.1 had all settings in one list and named its surrogate. Its route "networks" covered the routes surrogate
    and paper, which the setting ``proposals`` told apart. Which route "auto" had taken was only given as a reason.

    Examples
    --------
    >>> renamed_settings({"route": "auto", "proposals": "climb"}, ["route: climbs over orders, compiled"])
    {'route': 'orders', 'paper': {}, 'parts': {}}
    >>> renamed_settings({"route": "networks", "proposals": "region"}, [])
    {'route': 'paper', 'paper': {}, 'parts': {}}
    """
    present = dict(recorded)
    if "proposals" not in present:
        return present
    proposals = present.pop("proposals")
    reason = next((words for words in reasons if words.startswith("route: ")), "")
    if reason.startswith("route: climbs over orders"):
        present["route"] = "orders"
    elif reason or present.get("route") == "networks":
        present["route"] = "paper" if proposals == "region" else "surrogate"
    if "surrogate" in present:
        present["surrogate"] = present["surrogate"] != "none"
    if "n_draws" in present:
        present["climbs"] = present["n_draws"]
    paper = {name: present.pop(name) for name in PAPER_NAMES if name in present}
    return present | {"paper": paper, "parts": {name: present.pop(name) for name in PART_NAMES if name in present}}
