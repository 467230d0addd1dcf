"""Every error that drbo raises on purpose, each with a hint on how to solve it."""

import errno
from collections.abc import Iterable
from difflib import get_close_matches


class DrboError(Exception):
    """Base of all errors of this package.

    Parameters
    ----------
    message : what is wrong, what is allowed, what was found.
    hint : what the user can do about it; shown on a line of its own by the command line.

    Examples
    --------
    >>> str(DrboError("dropout must be in [0, 1), got 1.5", hint="try 0.1"))
    'dropout must be in [0, 1), got 1.5 (try 0.1)'
    """

    column: str | None = None  # that is at fault, where one column is

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[type["DrboError"], tuple[str, str | None]]:
        return type(self), (self.message, self.hint)


class DataError(DrboError, ValueError):
    """The table cannot be used as it is."""


class SettingsError(DrboError, ValueError):
    """An option has a value outside its range, or two options clash."""


class ParameterError(SettingsError, TypeError):
    """A parameter does not exist, or not here."""


class TimeLimitError(SettingsError):
    """The time limit left no time for what was asked for."""


class KnowledgeError(DrboError, ValueError):
    """Background knowledge contradicts itself or names an unknown variable."""


class ScoreError(DrboError, ValueError):
    """A score does not fit the data, or a user's score breaks the contract."""


class ContractError(DrboError, ValueError):
    """A user's search or claim breaks its contract."""


class ResultError(DrboError, ValueError):
    """A saved result or graph file cannot be read."""


class WriteError(ResultError):
    """A file cannot be written."""


class CheckpointError(DrboError):
    """A saved search cannot be continued."""


class LockError(DrboError):
    """Another process writes into the folder."""


class WorkerError(DrboError):
    """The processes or machines that compute scores are lost."""


def name_hint(given: object, known: Iterable[object], kind: str = "columns") -> str:
    """Return the hint for a name that does not exist: the nearest one that does, or the first of all."""
    names = [str(name) for name in known]
    close = get_close_matches(str(given), names, n=1, cutoff=0.7)
    return f"did you mean '{close[0]}'?" if close else f"the {kind} are {', '.join(names)}"[:300]


def first_of(words: Iterable[str], most: int) -> str:
    """Return the first words of a list, and how many more there are.

    Examples
    --------
    >>> first_of("abcd", 2)
    'a, b and 2 more'
    """
    every = list(words)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def write_hint(error: BaseException, otherwise: str) -> str:
    """Return what can be done about a write that failed.

    Examples
    --------
    >>> write_hint(OSError(errno.ENOSPC, "No space left on device"), "choose another folder")
    'the disk is full: free some space, or choose another disk'
    """
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full: free some space, or choose another disk"
    if code == errno.EFBIG:
        return "the file-size limit is too low: see 'ulimit -f'"
    return otherwise
