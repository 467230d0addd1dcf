"""A simulated greenhouse: twelve readings on ordinary days, and on five days on which somebody changed something.

What acts on what, and what was changed on which day, is known, because the readings are drawn from the equations below.
"""

import numpy as np

from drbo.arrays import Floats

ABOUT = {"description": "a simulated greenhouse, with five days of changes", "source": "simulated by drbo"}
#: What each reading depends on, and how strongly; causes come before their effects.
MECHANISMS: dict[str, dict[str, float]] = {
    "clouds": {},
    "pump": {},
    "sunlight": {"clouds": -0.8},
    "heater": {"sunlight": -0.5},
    "vents": {"sunlight": 0.6},
    "temperature": {"sunlight": 0.9, "heater": 0.8, "vents": -0.6},
    "humidity": {"temperature": -0.6, "pump": 0.7, "vents": -0.5},
    "soil_water": {"pump": 0.9, "temperature": -0.4},
    "co2": {"vents": -0.7},
    "leaf_heat": {"temperature": 0.7, "soil_water": -0.4},
    "growth": {"co2": 0.5, "leaf_heat": -0.5, "soil_water": 0.6},
    "energy": {"heater": 0.9, "pump": 0.4},
}
#: The readings that somebody changed on a day: they do not follow their causes then, and stand higher.
CHANGED: dict[str, tuple[str, ...]] = {
    "A": ("pump",),
    "B": ("vents",),
    "C": ("heater",),
    "D": ("soil_water", "leaf_heat"),
    "E": ("co2",),
}
#: The label of the rows in which nothing was changed.
ORDINARY = "ordinary"
ORDINARY_ROWS, CHANGED_ROWS = 400, 100
DAYS = (ORDINARY,) * ORDINARY_ROWS + tuple(day for day in CHANGED for _ in range(CHANGED_ROWS))
NOISE, RAISED = 0.6, 1.5
SEED = 0


def greenhouse() -> tuple[Floats, tuple[str, ...]]:
    """Return the readings, with three decimals and the columns in alphabetical order, and the day of each row."""
    rng = np.random.default_rng(SEED)
    parts = [_day(rng, ORDINARY_ROWS), *(_day(rng, CHANGED_ROWS, changed) for changed in CHANGED.values())]
    order = [list(MECHANISMS).index(name) for name in sorted(MECHANISMS)]
    return np.concatenate(parts)[:, order].round(3), DAYS


def _day(rng: np.random.Generator, n: int, changed: tuple[str, ...] = ()) -> Floats:
    """Return n rows, with the columns in the order of their mechanisms."""
    values: dict[str, Floats] = {}
    for name, causes in MECHANISMS.items():
        noise = NOISE * rng.standard_normal(n)
        if name in changed:
            values[name] = noise + RAISED
        else:
            values[name] = noise + sum(weight * values[cause] for cause, weight in causes.items())
    return np.column_stack(list(values.values()))
