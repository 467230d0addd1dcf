"""The parameters of an estimator as a file holds them, and back: every field is checked before it is used."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.data.checks.experiments import plain_targets
from drbo.design import DataPolicy, Design
from drbo.errors import CheckpointError, DrboError
from drbo.knowledge import Knowledge
from drbo.scores.named import score_label
from drbo.search.state import HINT, Fields
from drbo.settings import Settings

#: Parameters of the estimator that are words, and the largest whole number among the settings.
WORDS = ("preset", "prune", "device", "score")
MOST_SETTING = 2**62
#: Parameters of a design that are words or whole numbers.
NAMED = ("experiment", "control", "time", "unit", "max_lag", "season", "trend", "outcome")


def plain_parameters(given: Mapping[str, Any], start: npt.ArrayLike | None = None) -> dict[str, Any]:
    """Return parameters of the estimator as JSON knows them, and the start, for a search that is resumed."""
    options = {name: np.asarray(value).tolist() for name, value in (given["score_options"] or {}).items()}
    design, policy = given["design"] or Design(), given["policy"] or DataPolicy()
    stated = given["knowledge"] or Knowledge()
    known = Knowledge.from_mapping(stated) if isinstance(stated, Mapping) else stated
    groups = design.groups
    if np.ndim(groups):  # the number of the group of each row
        groups = np.unique(np.asarray(groups), return_inverse=True)[1].tolist()
    weights = np.asarray(design.weights, dtype=float).tolist() if np.ndim(design.weights) else design.weights
    plain = {"targets": plain_targets(design.targets), "groups": _listed(groups), "weights": _listed(weights),
             "randomised": list(design.randomised), "neighbourhood": int(design.neighbourhood)}  # fmt: skip
    return {
        **{name: given[name] for name in ("preset", "prune", "device")},
        "design": {name: getattr(design, name) for name in NAMED} | plain,
        "policy": policy.get_params() | {"types": None if policy.types is None else dict(policy.types)},
        "hidden": int(bool(given["hidden"])),
        "score": score_label(given["score"]),
        "score_options": options or None,
        "knowledge": known.to_mapping(),
        "start": None if start is None else np.argwhere(np.asarray(start)).tolist(),
    }


def _listed(labels: Any) -> list[Any] | None:
    """Return a value per row as it is, the name of a column alone in a list, and False as an empty list."""
    if labels is None or isinstance(labels, list):
        return labels
    return [labels] if isinstance(labels, str) else []


def check_parameters(given: Fields) -> None:
    """Refuse parameters in which a field is missing, or of another type."""
    _check_design(given.part("design"))
    _policy(given.mapping("policy"))
    for name in WORDS:
        given.text(name)
    given.integer("random_state", 0, 2**4096)
    given.integer("hidden", 0, 1)
    if given.has("score_options"):
        given.mapping("score_options")
    if given.has("start"):
        given.listed("start")
    _settings(given.mapping("settings"))
    _knowledge(given.mapping("knowledge"))


def arguments_of(plain: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the estimator, with changed settings."""
    given = {name: value for name, value in plain.items() if name != "start"}
    data = {"design": _design(given["design"]), "policy": _policy(given["policy"])}
    settings = _settings(given["settings"]).with_(**changes)
    known, hidden = _knowledge(given["knowledge"]), bool(given["hidden"])
    return given | data | {"settings": settings, "knowledge": known, "hidden": hidden}


def adjacency_of(edges: list[Any], d: int) -> Bools:
    """Return the matrix of edges, each a pair of columns by number."""
    for edge in edges:
        if not isinstance(edge, list) or len(edge) != 2 or not all(type(k) is int and 0 <= k < d for k in edge):
            raise CheckpointError("the start of the saved search must be pairs of columns", hint=HINT)
    matrix = np.zeros((d, d), dtype=bool)
    matrix[tuple(np.array(edges, dtype=np.intp).reshape(-1, 2).T)] = True
    return matrix


def _check_design(given: Fields) -> None:
    """Refuse fields of other types in what is said about the rows."""
    for name in ("experiment", "time", "unit", "trend", "outcome"):
        if given.has(name):
            given.text(name)
    for name in ("max_lag", "season"):
        if given.has(name):
            given.integer(name, 1, MOST_SETTING)
    given.text("control")
    given.integer("neighbourhood", 0, 1)
    if not all(type(name) is str for name in given.listed("randomised")):
        given.refuse("randomised", "be names", "others")
    if given.has("targets") and not all(isinstance(one, dict) for one in given.mapping("targets").values()):
        given.refuse("targets", "be kinds by column", "others")
    for name, number, what in (("groups", int, "whole numbers"), ("weights", float, "numbers")):
        if given.has(name):
            labels = given.listed(name)
            kind = str if len(labels) == 1 else number
            if not all(type(label) is kind for label in labels):
                given.refuse(name, f"be a name or {what}", "others")


def _design(given: dict[str, Any]) -> Design:
    """Return how the rows came about that a search was saved with."""
    rows = {name: given[name] for name in ("groups", "weights")}
    for name, labels in rows.items():
        if labels is not None and len(labels) < 2:
            rows[name] = labels[0] if labels else False  # a name, or the rows were said to be independent
    with _refused("design"):
        return Design(**given | rows | {"neighbourhood": bool(given["neighbourhood"])})


def _policy(given: dict[str, Any]) -> DataPolicy:
    """Return what a saved search did about columns and cells."""
    with _refused("policy"):
        return DataPolicy(**given)


@contextmanager
def _refused(what: str) -> Iterator[None]:
    """Say where in a saved search an error is."""
    try:
        yield
    except DrboError as error:
        raise CheckpointError(f"the {what} of the saved search: {error.message}", hint=error.hint) from error


def _settings(given: dict[str, Any]) -> Settings:
    """Return the settings of a saved search; all of them must be there."""
    _check_settings(given, Settings().to_dict())
    with _refused("settings"):
        return Settings.from_dict(given)


def _check_settings(given: Any, known: dict[str, Any]) -> None:
    """Refuse settings of other names, or whole numbers that are too large."""
    names = set(given) if isinstance(given, dict) else set()
    if names != known.keys():
        name = min(names ^ known.keys())
        which = "no" if name in known else "the unknown"
        raise CheckpointError(f"the settings of the saved search have {which} setting {name!r:.80}", hint=HINT)
    for name, value in given.items():
        if isinstance(known[name], dict):
            _check_settings(value, known[name])
        elif isinstance(value, int) and abs(value) > MOST_SETTING:
            raise CheckpointError(f"{name} of the saved search must be at most {MOST_SETTING}", hint=HINT)


def _knowledge(given: dict[str, Any]) -> Knowledge:
    with _refused("knowledge"):
        return Knowledge.from_mapping(given)
