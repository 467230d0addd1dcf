"""How often arrows with each ground of support pointed the right way, in real tables where that is known."""

import json
from functools import cache
from pathlib import Path

#: Written by ``python -m benchmarks report`` from the rows of the study ``real_tables``.
FILE = Path(__file__).with_name("track_record.json")


def track_record(ground: str) -> str:
    """Return the record of a ground in words; empty: there is none."""
    right, total = counts(ground)
    return f"{right} of {total} such arrows in real tables with known answers point the right way" if total else ""


@cache
def counts(ground: str) -> tuple[int, int]:
    """Return how many arrows of a ground pointed the right way, and how many there were."""
    known = json.loads(FILE.read_text(encoding="utf-8"))["grounds"].get(ground, {}).values()
    return sum(one["right"] for one in known), sum(one["all"] for one in known)
