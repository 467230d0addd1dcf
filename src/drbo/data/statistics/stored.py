"""A checked table as arrays and plain words, and back again: every part is checked before it is used."""

import zipfile
from dataclasses import replace
from typing import Any

import numpy as np

from drbo.data.checks.check import recheck
from drbo.data.checks.experiments import Experiments, KnownTarget, known_targets, plain_known
from drbo.data.files.files import read_member
from drbo.data.statistics.blocks import is_large
from drbo.data.statistics.moments_file import moments_bytes, moments_of_bytes
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, DrboError, ResultError


def words_of(table: Statistics) -> dict[str, Any]:
    """Return what a table is beside its numbers, as JSON knows it."""
    levels = [None if one is None else list(one) for one in table.levels]
    about = {"names": list(table.names), "kinds": list(table.kinds), "levels": levels, "lags": list(table.lags)}
    about |= {"chosen_from": table.chosen_from}
    if (found := table.experiments) is None:
        return about | {"labels": None, "known": None, "experiment": None}
    known = [[one.experiment, one.column, one.kind] for one in found.known]
    return about | {"labels": list(found.labels), "known": known, "experiment": found.column}


def arrays_of(table: Statistics) -> dict[str, Any]:
    """Return the numbers of a table."""
    rows: dict[str, Any] = {"values": table.values}
    rows |= {} if table.weights is None else {"weights": table.weights}
    rows |= {} if table.groups is None else {"groups": table.groups.astype("<i8")}
    rows |= {} if table.blocks is None else {"blocks": table.blocks.astype("<i8")}
    rows |= {} if table.order is None else {"order": table.order.astype("<i8")}
    rows |= {} if table.experiments is None else {"experiments": table.experiments.codes.astype("<i8")}
    if table.sums is not None:
        rows |= {"totals": np.frombuffer(moments_bytes(table.sums), dtype=np.uint8), "first": table.first}
    if table.bases is not None:
        rows |= {"bases": np.frombuffer(moments_bytes(table.bases.sums), dtype=np.uint8)}
        rows |= {"widths": table.bases.widths.astype("<i8")}
    return rows


def table_of(archive: zipfile.ZipFile, words: dict[str, Any], what: str, limit: int) -> Statistics:
    """Return the table of an archive of arrays of at most so many bytes; a check of a table could have made it."""
    values = read_member(archive, "values", f"{what} values", kinds="f", limit=limit)
    rows: dict[str, Any] = {}
    whole = ("groups", "blocks", "order", "experiments")
    for name, dtype in (("weights", "<f8"), *((name, "<i8") for name in whole)):
        if f"{name}.npy" in archive.namelist():
            rows[name] = read_member(archive, name, f"{what} {name}", shape=values.shape[:1], dtype=dtype)
    rows["experiments"] = _experiments(rows.get("experiments"), words, what)
    names, kinds = tuple(words["names"]), tuple(words["kinds"])
    levels = tuple(None if one is None else tuple(one) for one in words["levels"])
    lags, chosen_from = tuple(words["lags"]), words["chosen_from"]
    fits = values.ndim == 2 and values.shape[1] == len(names) == len(kinds) == len(levels) == len(lags or names)
    if not fits or values.dtype != np.float64 or type(chosen_from) is not int or chosen_from < 0:
        raise ResultError(f"{what} does not match its description")
    values = values if is_large(*values.shape) else np.ascontiguousarray(values)
    table = _summed(
        Statistics(values, names, kinds, levels, lags=lags, chosen_from=chosen_from, **rows), archive, what, limit
    )
    try:
        recheck(table)
    except DataError as error:
        raise ResultError(f"{what}: {error.message}") from error
    return table


def _summed(table: Statistics, archive: zipfile.ZipFile, what: str, limit: int) -> Statistics:
    """Return the table with the sums of all rows, where only a sample of the rows was saved."""
    if "totals.npy" not in archive.namelist():
        return table
    raw = read_member(archive, "totals", f"{what} totals", kinds="u", limit=limit)
    first = read_member(archive, "first", f"{what} first", kinds="f", limit=limit)
    sums = moments_of_bytes(raw.tobytes(), f"{what} totals").sums
    if sums.names != table.names or (first.size and (first.ndim != 2 or first.shape[1:] != table.values.shape[1:])):
        raise ResultError(f"{what} does not match its description")
    table = replace(table, sums=sums, first=first)
    if "bases.npy" not in archive.namelist():
        return table
    raw = read_member(archive, "bases", f"{what} bases", kinds="u", limit=limit)
    bases = Statistics.from_sums(moments_of_bytes(raw.tobytes(), f"{what} bases").sums)
    widths = read_member(archive, "widths", f"{what} widths", shape=(table.n_columns,), dtype="<i8")
    if (widths < 1).any() or widths.sum() != bases.n_columns:
        raise ResultError(f"{what} does not match its description")
    return table.with_bases(bases, widths.astype(np.intp))


def _experiments(codes: Any, words: dict[str, Any], what: str) -> Experiments | None:
    """Return the experiments of the rows, which must be such as :func:`split_experiments` makes them."""
    labels = tuple(words["labels"] or ())
    if codes is None and not labels:
        return None
    known = tuple(KnownTarget(*one) for one in words["known"] or ())
    try:
        if codes is None or not labels or ((codes < 0) | (codes >= len(labels))).any():
            raise DataError("experiments do not match their labels")
        known_targets(plain_known(known), labels, words["names"])
        found = Experiments(codes.astype(np.intp), labels, known, words["experiment"])
        found.check_rows()
    except DrboError as error:
        raise ResultError(f"{what}: {error.message}") from error
    return found
