"""What a run was asked for comes back, and nothing else does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drbo.errors import ResultError
from drbo.result.files.plan import CLUSTERS, PLAN, Plan

FULL = Plan(("drbo", "fit", "table.csv"), "2025-01-01 12:00:00", resamples=5, kind="cluster")


def test_a_plan_comes_back(tmp_path: Path) -> None:
    assert Plan.load(tmp_path) is None
    FULL.save(tmp_path, np.array(["b", "a", "b"]))
    assert Plan.load(tmp_path) == FULL
    wish = FULL.resampling(tmp_path)
    assert wish is not None
    assert wish.pop("clusters").tolist() == [1, 0, 1]
    assert wish == {"n": 5, "kind": "cluster", "keep": tmp_path / "resamples.json"}
    assert Plan(("drbo", "fit"), "now").resampling(tmp_path) is None
    assert (tmp_path / CLUSTERS).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "does not describe a run of drbo"),
        ({"version": 1}, "format version 1, but this version of drbo reads only 2"),
        ({"argv": 5}, "'argv' must be the words of a drbo command, got 5"),
        ({"argv": ["rm", "-r", "~"]}, "'argv' must be the words of a drbo command"),
        ({"resamples": True}, "'resamples' must be int, got True"),
        ({"resamples": 1.5}, "'resamples' must be int, got 1.5"),
        ({"resumable": 1}, "'resumable' must be bool, got 1"),
        ({"kind": None}, "'kind' must be str, got None"),
    ],
)
def test_a_plan_that_was_changed_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    FULL.save(tmp_path)
    content = json.loads((tmp_path / PLAN).read_text())
    (tmp_path / PLAN).write_text(json.dumps(content | change))
    with pytest.raises(ResultError, match=message):
        Plan.load(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff"])
def test_a_damaged_plan_is_refused(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / PLAN).write_bytes(raw)
    with pytest.raises(ResultError, match=PLAN):
        Plan.load(tmp_path)


def test_clusters_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match=CLUSTERS):
        FULL.resampling(tmp_path)
    for array in (np.zeros(3), np.array([{}])):
        np.save(tmp_path / CLUSTERS, array, allow_pickle=True)
        with pytest.raises(ResultError, match=CLUSTERS):
            FULL.resampling(tmp_path)
