"""Check the files of a release against the sources: python .ci/release.py build/dist

A folder holds one sdist, one wheel or several, the bill of materials and the site. All problems are listed at once;
then SHA256SUMS is written.
"""

import hashlib
import json
import re
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
#: What a wheel must bring beside the modules.
IN_WHEEL = ("drbo/py.typed", "drbo/_core.pyi", "drbo/result/report/vendor/*.js")
#: What the sdist must bring to be built, tested and cited.
IN_SDIST = ("pyproject.toml", "src/core/CMakeLists.txt", "tests/conftest.py", "LICENSE", "CITATION.cff", "CHANGELOG.md")
#: What belongs into neither: rows of benchmarks, what was built, private files.
NOWHERE = re.compile(r"(^|/)(benchmarks/rows|build|\.venv[\w-]*|__pycache__|\.git)/|\.pyc$")


def version() -> str:
    """Return the version of the sources."""
    text = (ROOT / "src/drbo/__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]  # type: ignore[index]


def problems(folder: Path) -> list[str]:
    """Return everything that is wrong with the files of a release."""
    found = []
    for what, pattern, check in (
        ("sdist", "drbo-*.tar.gz", _sdist),
        ("wheel", "drbo-*.whl", _wheel),
        ("bill of materials", "sbom.json", _sbom),
        ("site", "drbo-docs.zip", _site),
    ):
        files = sorted(folder.glob(pattern))
        found += [f"there is no {what} ({pattern})"] * (not files)
        found += [f"{path.name}: {words}" for path in files for words in check(path)]
    return found


def _sdist(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        names = [member.name.partition("/")[2] for member in archive if member.isfile()]
    return _names(path, names, IN_SDIST) + [f"has no {name}" for name in _modules("src/drbo") if name not in names]


def _wheel(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        about = {PurePosixPath(name).name: archive.read(name).decode() for name in names if ".dist-info/" in name}
    found = _names(path, names, IN_WHEEL) + [f"has no {name}" for name in _modules("drbo") if name not in names]
    found += ["has no compiled core"] * (not any(re.match(r"drbo/_core\..*(so|pyd)$", name) for name in names))
    found += ["has no command drbo"] * ("drbo = drbo.cli:main" not in about.get("entry_points.txt", ""))
    given = Parser().parsestr(about.get("METADATA", ""))
    found += [f"says version {given['Version']}"] * (given["Version"] != version())
    licences = {f"{name}" for name in given.get_all("License-File", [])}
    return found + [f"names no licence {name}" for name in ("LICENSE", "licenses/nanobind.txt") if name not in licences]


def _sbom(path: Path) -> list[str]:
    content = json.loads(path.read_text(encoding="utf-8"))
    found = [] if content.get("bomFormat") == "CycloneDX" else ["is not CycloneDX"]
    named = content.get("metadata", {}).get("component", {})
    wanted = {"name": "drbo", "version": version()}
    found += [f"is not about drbo {version()}"] * ({key: named.get(key) for key in wanted} != wanted)
    names = {one["name"] for one in content.get("components", [])}
    return found + [f"does not list {name}" for name in ("numpy", "nanobind", "cytoscape") if name not in names]


def _site(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        index = archive.read("index.html").decode() if "index.html" in names else ""
    found = [f"does not say drbo {version()} on its first page"] * (f"drbo {version()}" not in index)
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    return found + [f"has no page {page.as_posix()}" for page in pages if page.as_posix() not in names]


def _names(path: Path, names: list[str], wanted: tuple[str, ...]) -> list[str]:
    """Return which files are missing or too many, and whether the name of an archive has another version."""
    missing = [name for name in wanted if not any(PurePosixPath(one).match(name) for one in names)]
    found = [f"has no {name}" for name in missing] + [f"contains {name}" for name in names if NOWHERE.search(name)]
    return found + ["is of another version"] * (not path.name.startswith((f"drbo-{version()}-", f"drbo-{version()}.")))


def _modules(where: str) -> list[str]:
    """Return the modules of the package, below a folder of an archive."""
    package = ROOT / "src/drbo"
    return [f"{where}/{path.relative_to(package).as_posix()}" for path in package.rglob("*.py")]


def main(folder: Path) -> int:
    """Say what is wrong; else write and print the sums."""
    found = problems(folder)
    for words in found:
        print(f"error: {words}")
    if not found:
        files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        (folder / "SHA256SUMS").write_text(sums)
        print(f"drbo {version()}:\n{sums}", end="")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
