"""Mutates real calls of the compiled core: an error in words or a result, never a crash, a hang or a wrong address.

    python -m tests.core.fuzz FOLDER --seconds 60 [--entry NAME]

FOLDER holds calls that :mod:`tests.core.recording` kept. Meant for a core that is built with sanitizers (``make
test-sanitize``): they end the process at the first wrong address or undefined operation, and the last line of
FOLDER/log names the entry point, the seed and the number of the call.
"""

import argparse
import faulthandler
import random
import re
import sys
import time
import warnings
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from drbo import _core
from drbo.deadline import Deadline, OutOfTimeError
from tests.core.recording import Call, Made, Scorer, recorded

#: What a call may take before it counts as hanging; a deadline asks it to end well before.
PATIENCE, HANGING = 0.5, 20.0
NUMBERS = (0, 1, -1, 2, 63, 64, 65, 127, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
REALS = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e300, -1e300, float("inf"), float("-inf"), float("nan"))
#: How an entry point may refuse what it is given; a deadline may end it.
REFUSALS = (ValueError, TypeError, OverflowError, MemoryError, IndexError, KeyError, RuntimeError, OutOfTimeError)
#: Entries that are properties or have no arguments to mutate: reached when objects are looked at.
READ = ("dag", "order", "chosen", "values", "repaired", "n_sets", "bytes", "n_nodes", "count", "known")


def mutated(value: Any, rng: random.Random) -> Any:
    """Return something close to a value of a call."""
    if isinstance(value, Made):
        return Made(changed(value.call, rng)) if rng.random() < 0.3 else value
    if isinstance(value, np.ndarray):
        return _array(value, rng)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return rng.choice([*NUMBERS, value + 1, value - 1, -value, value * 2])
    if isinstance(value, float):
        return rng.choice([*REALS, value * 2, -value])
    if isinstance(value, list | tuple) and value:
        items = list(value)
        place = rng.randrange(len(items))
        if rng.random() < 0.3:
            del items[place]
        else:
            items[place] = mutated(items[place], rng)
        return type(value)(items)
    return rng.choice([value, None, 0, "x"])


def _array(value: Any, rng: random.Random) -> Any:
    """Return an array with other items, another shape, or another type."""
    made = value.copy()
    way = rng.random()
    if way < 0.6 and made.size:
        flat = made.reshape(-1)
        for _ in range(rng.choice([1, 1, 2, 8])):
            flat[rng.randrange(flat.size)] = _item(made, rng)
    elif way < 0.8 and made.ndim:
        axis = rng.randrange(made.ndim)
        keep = rng.choice([0, 1, max(0, made.shape[axis] - 1)])
        made = np.ascontiguousarray(np.take(made, np.arange(min(keep, made.shape[axis])), axis=axis))
    elif way < 0.9 and made.ndim:
        made = np.ascontiguousarray(np.repeat(made, 2, axis=rng.randrange(made.ndim)))
    elif way < 0.95 and made.size:
        made[...] = _item(made, rng)
    else:
        made = made.astype(rng.choice([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.uint64]))
    return made


def _item(array: Any, rng: random.Random) -> Any:
    """Return an item of an array's kind, at the edge of its range or from another place of it."""
    if array.dtype.kind == "f":
        return rng.choice([*REALS, float(array.reshape(-1)[rng.randrange(array.size)])])
    if array.dtype.kind == "b":
        return rng.random() < 0.5
    limits = np.iinfo(array.dtype)
    number = rng.choice([*NUMBERS, int(array.reshape(-1)[rng.randrange(array.size)]) + rng.choice([-1, 1])])
    return min(max(number, int(limits.min)), int(limits.max))


def changed(call: Call, rng: random.Random) -> Call:
    """Return a call with one or two arguments changed."""
    args, kwargs = list(call.args), dict(call.kwargs)
    places: list[Any] = [*range(len(args)), *kwargs]
    for place in rng.sample(places, k=min(len(places), rng.choice([0, 1, 1, 1, 2]))):
        holder: Any = args if isinstance(place, int) else kwargs
        holder[place] = mutated(holder[place], rng)
    return Call(call.name, tuple(args), kwargs)


def made(value: Any) -> Any:
    """Return a value of a call for the core: arrays that it may write to, and objects that are made again."""
    if isinstance(value, Made):
        return perform(value.call)
    if isinstance(value, Scorer):
        return _scores
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return type(value)(made(one) for one in value)
    return {key: made(one) for key, one in value.items()} if isinstance(value, dict) else value


def _scores(nodes: Any, parents: Any, sizes: Any) -> tuple[Any, ...]:
    """Return steps of a score that contradicts itself, and now and then answers with nonsense."""
    rng = np.random.default_rng([len(nodes), int(sizes.sum())])
    count, d = len(nodes), 1 + int(max(nodes.max(initial=0), parents.max(initial=0)))
    d = _width.get("n_nodes", d)
    drops = np.where(sizes > 0, parents[:, 0], -1)
    found = [rng.normal(size=count), rng.normal(size=(count, d)), drops, rng.normal(size=count)]
    if rng.random() < 0.1:
        place = int(rng.integers(4))
        found[place] = _array(found[place], random.Random(int(rng.integers(2**31))))
    return tuple(found)


_width: dict[str, int] = {}


def perform(call: Call) -> Any:
    """Make a call; a flag that stops a climb is that of the deadline."""
    name, _, method = call.name.partition(".")
    args, kwargs = [made(one) for one in call.args], made(call.kwargs)
    if name == "ScoreSteps" and not method and args and isinstance(args[0], int):
        _width["n_nodes"] = max(1, min(args[0], 200))
    if method in ("climb", "shake"):
        args = [*args[:-1], _deadline.flag] if args and args[-1] is None else args
    if not method:
        return getattr(_core, name)(*args, **kwargs)
    if method == "climb" and args and hasattr(args[0], "put"):  # of one that stands somewhere
        args[0].put(np.arange(len(args[0].order)), None)
    return getattr(getattr(_core, name), method)(*args, **kwargs)


_deadline = Deadline()


def attempt(call: Call) -> str:
    """Make a call under a deadline; return how it ended, and look at all that an object tells."""
    global _deadline
    with Deadline(PATIENCE) as _deadline:
        try:
            with np.errstate(all="ignore"):
                found = perform(call)
            objects = [found, *(one for one in call.args if isinstance(one, Made))]
            for one in objects:
                for name in READ:
                    _ = getattr(one, name, None) if type(one).__module__.endswith("_core") else None
        except REFUSALS as error:
            return type(error).__name__
    return "result"


def fuzz(
    calls: dict[str, list[Call]], seconds: float, seed: int = 0, log: TextIO | None = None
) -> dict[str, dict[str, int]]:
    """Mutate calls of each entry point for an equal share of the processor's time; return how many ended how."""
    found: dict[str, dict[str, int]] = {}
    for name, kept in sorted(calls.items()):
        rng, ends, number = random.Random(f"{seed} {name}"), dict[str, int](), 0
        end = time.process_time() + seconds / len(calls)
        while time.process_time() < end:
            if log is not None:  # the last line of the log says where a crash was
                log.write(f"{name} {seed} {number}\n")
                log.flush()
            faulthandler.dump_traceback_later(HANGING, exit=True)
            how = attempt(changed(rng.choice(kept), rng))
            faulthandler.cancel_dump_traceback_later()
            ends[how] = ends.get(how, 0) + 1
            number += 1
        found[name] = ends
    return found


def entries() -> set[str]:
    """Return the names of all entry points: functions, constructors and methods; steps are asked by the core alone."""
    names = {name for name in vars(_core) if not name.startswith("_")}
    names -= {"OutOfTimeError", "StopFlag", "set_stop_source", "Steps"}
    for name in sorted(names):
        kind = getattr(_core, name)
        if isinstance(kind, type) and not issubclass(kind, _core.Steps):
            methods = {key for key in dir(kind) if not key.startswith("_") and callable(getattr(kind, key))}
            names |= {f"{name}.{key}" for key in methods}
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--entry", help="one entry point alone")
    parser.add_argument("--record", action="store_true", help="add the seconds to those of docs/developers/faults.md")
    given = parser.parse_args()
    calls = {name: kept for name, kept in recorded(given.folder).items() if kept and given.entry in (None, name)}
    warnings.simplefilter("ignore")  # of numpy, about casts of numbers at the edge
    with (given.folder / "log").open("w") as log:
        found = fuzz(calls, given.seconds, given.seed, log)
    for name, ends in found.items():
        print(f"{name:32s} {sum(ends.values()):7,} " + ", ".join(f"{how} {count:,}" for how, count in ends.items()))
    if given.record:
        from tests.faults.campaign import record_fuzzed

        seconds = given.seconds / len(calls)
        record_fuzzed({name: (seconds, sum(ends.values())) for name, ends in found.items()})
    reached = {part for name in found for part in (re.split("[. ]", name)[0], name.split(" ")[0])}
    missing = sorted(entries() - reached)
    if missing and given.entry is None:
        sys.exit(f"no call was recorded of {', '.join(missing)}")


if __name__ == "__main__":
    main()
