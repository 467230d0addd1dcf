"""Scores that a file names: the built-in ones may be used, code only if a person named it, too."""

from typing import Any

from drbo.errors import SettingsError
from drbo.scores.registry import SCORES, installed_scores, score_class


def is_built_in(name: str) -> bool:
    """Tell whether a name stands for a score of drbo or of an installed package, so that it may come from a file."""
    return name == "auto" or name in SCORES or (":" not in name and name in installed_scores())


def score_label(score: Any) -> str:
    """Return a score as a file names it: by its name, or as ``module:Class``."""
    if isinstance(score, str):
        return score
    if isinstance(score, type):
        return f"{score.__module__}:{score.__qualname__}"
    raise SettingsError(
        "checkpoint requires a score given by name, as 'module:Class' or as a class",
        hint="give the class of the score, because a score object cannot be saved",
    )


def score_of_file(found: str, given: Any, where: str) -> Any:
    """Return the score that a file names; a person must have given the same one where it is not built in.

    Parameters
    ----------
    found : the name in the file.
    given : what a person gave: a name, ``module:Class``, a class, or None.
    where : the file, for the error.
    """
    if given is None and is_built_in(found):
        return found
    if given is None:
        raise SettingsError(
            f"{where} names the score '{found:.300}', but drbo does not load code that only a file names",
            hint=f"if you trust this code, add score='{found}'"
            if ":" in found
            else "give the score as score='module:Class'",
        )
    if found not in _names(given):
        raise SettingsError(
            f"{where} names the score '{found:.300}', but '{score_label(given)}' was given",
            hint="give the score that the file names",
        )
    return given


def _names(score: Any) -> set[str]:
    """Return the names that a score has in a saved search, which is its label, and in a result."""
    names = {score_label(score)}
    if is_built_in(score_label(score)):
        return names
    kind = score_class(score) if isinstance(score, str) else score
    return names | {str(getattr(kind, "name", kind.__name__)), kind.__name__}
