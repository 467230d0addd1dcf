"""Which results of the compiled core are the same bits on every processor.

Kernels that add, multiply, divide and take roots are: sums have a fixed order, and no compiler contracts a product and
a sum. Kernels that take logarithms or exponentials call the C library, which chooses among versions by the processor:
they agree up to rounding. Where a function is compiled for several kinds of vectors, all versions give the same bits.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def _numbers(rng, *shape):
    """Return numbers that are the same on every machine: those of ``rng.normal`` come from the C library."""
    return rng.integers(-2000, 2000, size=shape) / 1000


def _floats(rng, *shape):
    return _numbers(rng, *shape).astype(np.float32)


def _correlation(rng, d):
    return np.round(np.corrcoef(_numbers(rng, 200, d) + _numbers(rng, 200, 1), rowvar=False), 6)


def _steps(core, rng, d, weights):
    correlation = _correlation(rng, d)
    free = ~np.eye(d, dtype=bool)
    none, prices = np.zeros((0, 0)), np.full((d, d), 0.1)
    group, most = np.zeros(d, dtype=np.int64), np.full(d, d)
    rows, limits = np.full(d, 200.0), (np.ascontiguousarray(free), ~np.ones((d, d), dtype=bool))
    data = correlation[None], np.arange(d + 1)[None], group, rows, weights, none, none
    everything = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)  # no lists of candidates
    steps = core.RegressionSteps(*data, prices, *limits, most, 1e-11, 1e-12, *everything)
    nodes = np.arange(d)
    parents = np.stack([np.sort(rng.permutation(np.delete(nodes, node))[:9]) for node in nodes])
    return steps.expand(nodes, parents, np.arange(d) % 10)


def _networks(core, rng, d, h, n):
    codes = rng.integers(256, size=(d, n, 3), dtype=np.uint8)
    shapes = [(d, d, h), (d, h), (d, h), (d, h), (d, h), (d, 1)]
    parameters, gradients = ([_floats(rng, *shape) for shape in shapes] for _ in range(2))
    scale = np.stack(
        [_floats(rng, d), 1 + np.abs(_floats(rng, d)), np.full(d, -9, np.float32), np.full(d, 9, np.float32)]
    )
    networks = core.Networks(*parameters)
    target, local = _floats(rng, d, n), np.empty((d, n), np.float32)
    squares = core.network_gradients(
        codes, target, scale[:2].copy(), networks, core.Networks(*gradients), 7, 0.2, 1e-5, 1
    )
    core.network_samples(codes, networks, np.zeros((2, 0, h), np.float32), scale, 3, 0.2, 1e-5, local, 1)
    moment1, moment2 = np.zeros(d * h, np.float32), np.zeros(d * h, np.float32)
    flat = parameters[1].ravel().copy()
    core.adam_step(flat, moment1, moment2, gradients[1].ravel().copy(), 0.5, 0.9, 0.999, 0.01, 1.5, 1e-8, 1)
    values = np.empty((d, n, 11), np.float32)
    changed, offset = np.ones((d, n), np.uint8), _floats(rng, d, 1)
    drawn = (parameters[0], parameters[1], _floats(rng, d, h, 11), offset, scale)
    core.network_values(codes, changed, np.zeros((d, 3), np.uint8), *drawn, values, 1)
    return *gradients, squares, local, flat, values


def _outputs(core, *, with_library):
    """Return arrays that kernels of plain arithmetic give, or those that also call the C library."""
    rng = np.random.default_rng(0)
    d = 21
    shares = _numbers(rng, 10, 1 << 9)
    best = core.best_inside(shares, 1)
    correlation = _correlation(rng, d)
    starts, members = np.arange(0, 8 * 40 + 1, 8), np.concatenate([rng.permutation(d - 1)[:8] for _ in range(40)])
    regressions = core.residuals(correlation, np.full(40, d - 1), starts, members, 1e-11, 1)
    if with_library:
        scattered = core.log_determinants(correlation[:9, :9].copy())
        columns, rows = _numbers(rng, d, 203), np.full(203, 1 / 203)
        noise = core.NoiseRows(columns, rows, correlation, 0.01, 1e-11, 1e-12)
        fits = noise.fits(np.full(40, d - 1), starts, np.sort(members), 1)
        return [*_steps(core, rng, d, np.zeros(d)), core.sum_inside(shares, 1), scattered, fits]
    lattice = [best, core.lattice_forward(best), core.lattice_backward(best)]
    return [*lattice, regressions, *_steps(core, rng, d, np.ones(d)), *_networks(core, rng, d, 19, 70)]


@pytest.fixture
def core():
    """The compiled core. One process cannot hold two of them: this file is also run as a program, without it."""
    from drbo import _core

    return _core


def _digest(arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


@pytest.mark.floats
def test_kernels_of_plain_arithmetic_give_the_same_bits_on_every_kind_of_machine(core, tmp_path):
    folder = Path(os.environ.get("DRBO_CPUS_FOLDER", tmp_path)) / "bits"
    folder.mkdir(parents=True, exist_ok=True)
    own = {"plain": _digest(_outputs(core, with_library=False))}
    own["library"] = [np.asarray(part, dtype=float).ravel().tolist() for part in _outputs(core, with_library=True)]
    name = os.environ.get("DRBO_CPUS_NAME", "host")
    (folder / f"{name}.json").write_text(json.dumps(own))
    for path in folder.glob("*.json"):
        theirs = json.loads(path.read_text())
        assert own["plain"] == theirs["plain"], path.stem
        for mine, other in zip(own["library"], theirs["library"], strict=True):
            assert mine == pytest.approx(other, rel=1e-12, abs=1e-12), path.stem


def _built_without_wide_vectors(folder):
    """Return the core compiled for the least of the platform's processors."""
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DDRBO_WIDE=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
    cmake, ninja = (
        shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") for name in ("cmake", "ninja")
    )
    if not (cmake and ninja and shutil.which("g++")):
        pytest.skip("cmake, ninja and g++ are needed")
    options += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}", "-DCMAKE_CXX_COMPILER=g++"]
    for command in ([cmake, "-S", ROOT / "src/core", "-B", folder, *options], [cmake, "--build", folder]):
        subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("_core.*"))


@pytest.mark.slow
def test_wide_vectors_give_the_bits_of_narrow_ones(core, tmp_path):
    narrow = _built_without_wide_vectors(tmp_path)
    found = subprocess.run(
        [sys.executable, __file__, narrow], check=True, capture_output=True, text=True
    ).stdout.split()
    assert found == [_digest(_outputs(core, with_library=part)) for part in (False, True)]


if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("_core", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    print(*(_digest(_outputs(module, with_library=part)) for part in (False, True)))
