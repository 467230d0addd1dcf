"""Write a CycloneDX bill of materials: what drbo needs, what it brings along, and what it is built and tested with.

    python .ci/sbom.py build/sbom.json

Versions and hashes come from .ci/requirements.lock, so that the same lock gives the same file. Which packages are
needed to run drbo comes from the metadata of the packages that are installed.
"""

import hashlib
import json
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
#: What a user may ask for: pip install 'drbo[torch]', for example.
EXTRAS = ("torch", "plot", "parquet", "excel", "big", "dask")
VENDOR = ROOT / "src/drbo/result/report/vendor"


def locked(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Return version and hashes of every package of a lock."""
    found = {}
    for block in re.split(r"\n(?=\S)", path.read_text()):
        if match := re.match(r"([A-Za-z0-9._-]+)==(\S+)", block):
            hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", block)
            found[str(canonicalize_name(match[1]))] = match[2], hashes
    return found


def pinned(path: Path, name: str) -> str:
    """Return the version of one package in a file of constraints."""
    return next(line.split("==")[1] for line in path.read_text().splitlines() if line.startswith(f"{name}=="))


def closure(requirements: list[str]) -> set[str]:
    """Return what these requirements need, and what that needs, as far as it is installed."""
    open_, seen = [Requirement(text) for text in requirements], set[str]()
    while open_:
        one = open_.pop()
        name = str(canonicalize_name(one.name))
        if name in seen or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        seen.add(name)
        open_ += [Requirement(text) for text in needs]
    return seen


def component(name: str, version: str, hashes: list[str], scope: str) -> dict[str, Any]:
    """Return one Python package; a package has many files, so its hashes are listed as properties."""
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "scope": scope,
        "properties": [{"name": "drbo:file-sha256", "value": value} for value in hashes],
    }


def vendored() -> list[dict[str, Any]]:
    """Return the files of others inside drbo."""
    found = re.search(r"npm package (\S+) (\S+) \((\S+?),", (VENDOR / "README.md").read_text())
    assert found is not None
    name, version, licence = found.groups()
    digest = hashlib.sha256((VENDOR / f"{name}.min.js").read_bytes()).hexdigest()
    return [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{name}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{name}@{version}",
            "scope": "required",
            "licenses": [{"license": {"id": licence}}],
            "hashes": [{"alg": "SHA-256", "content": digest}],
        }
    ]


def bill() -> dict[str, Any]:
    """Return the bill of materials."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = locked(ROOT / ".ci/requirements.lock")
    packages["torch"] = pinned(ROOT / "constraints.txt", "torch"), []
    needed = closure(project["dependencies"])
    extras = project["optional-dependencies"]
    optional = closure([text for extra in EXTRAS for text in extras[extra]]) - needed
    scopes = dict.fromkeys(needed, "required") | dict.fromkeys(optional, "optional")
    parts = [
        component(name, version, hashes, scopes.get(name, "excluded"))
        for name, (version, hashes) in sorted(packages.items())
    ]
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/drbo/__init__.py").read_text())
    assert version is not None
    main = {"type": "library", "bom-ref": "drbo", "name": "drbo", "version": version[1]}
    main["licenses"] = [{"license": {"id": project["license"]}}]  # type: ignore[assignment]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": main},
        "components": [*parts, *vendored()],
    }


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill(), indent=1) + "\n")
    print(f"{len(bill()['components'])} components in {target}")
