"""What is released and cited agrees: versions, the conda recipe, the software paper, templates, files of a release."""

import importlib.util
import io
import json
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from jinja2 import Environment
from packaging.requirements import Requirement
from packaging.version import Version

import drbo

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
#: Packages that conda knows by another name.
IN_CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base", "duckdb": "python-duckdb"}
#: Extras of those who develop drbo.
TOOLS = ("docs", "dev")


def _load(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = _load(".ci/release.py")
RECIPE = yaml.safe_load(
    Environment()
    .from_string((ROOT / "conda/meta.yaml").read_text())
    .render(compiler=lambda name: f"a compiler of {name}", PYTHON="python")
)


def _conda(requirements):
    """Return requirements as conda writes them."""
    parsed = [Requirement(text) for text in requirements]
    return {f"{IN_CONDA.get(one.name, one.name)} {one.specifier}" for one in parsed}


def test_the_citation_names_the_version_and_a_day():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == Version(drbo.__version__).base_version == release.version().partition(".dev")[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", str(cited["date-released"]))
    assert f"## [{cited['version']}]" in (ROOT / "CHANGELOG.md").read_text()
    assert cited["license"] in PROJECT["license"]


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    about, needs = RECIPE["package"], RECIPE["requirements"]
    assert (about["name"], about["version"]) == (PROJECT["name"], drbo.__version__)
    assert set(needs["run"]) == {f"python {PROJECT['requires-python']}", *_conda(PROJECT["dependencies"])}
    extras = [text for name, texts in PROJECT["optional-dependencies"].items() if name not in TOOLS for text in texts]
    assert set(needs["run_constrained"]) == _conda(extras)
    assert set(needs["host"]) - {"pip"} == {f"python {PROJECT['requires-python']}", *_conda(BUILD)}
    minimum = re.search(r"cmake_minimum_required\(VERSION (\d+\.\d+)", (ROOT / "src/core/CMakeLists.txt").read_text())
    assert f"cmake >={minimum[1]}" in needs["build"]


def test_the_conda_recipe_installs_the_command_with_its_licences():
    commands = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert RECIPE["build"]["entry_points"] == commands
    assert RECIPE["about"]["license"] == PROJECT["license"]
    assert RECIPE["about"]["summary"] == PROJECT["description"]
    licences = {path.relative_to(ROOT).as_posix() for text in PROJECT["license-files"] for path in ROOT.glob(text)}
    assert set(RECIPE["about"]["license_file"]) == licences
    assert all((ROOT / path).exists() for path in RECIPE["test"]["source_files"])


@pytest.mark.parametrize("path", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_a_template_of_issues_is_a_form_whose_pages_exist(path):
    form = yaml.safe_load(path.read_text())
    if path.stem == "config":
        assert form == {"blank_issues_enabled": False}
        return
    assert {"name", "description", "body"} <= set(form)
    assert all(one["type"] in ("markdown", "textarea", "checkboxes") for one in form["body"])
    fields = [one["id"] for one in form["body"] if one["type"] != "markdown"]
    assert fields
    assert len(set(fields)) == len(fields)
    for page in re.findall(r"[\w/-]+\.md", path.read_text()):
        assert (ROOT / page).exists(), page


def test_the_paper_cites_what_its_bibliography_holds():
    text, books = ((ROOT / "paper" / name).read_text() for name in ("paper.md", "paper.bib"))
    entries = re.findall(r"^@\w+\{(\w+),", books, re.MULTILINE)
    assert len(set(entries)) == len(entries)
    assert set(re.findall(r"@(\w+\d{4})", text)) == set(entries)
    assert books.count("{") == books.count("}")


def test_the_paper_has_two_pages_with_the_parts_that_a_reader_expects():
    text = (ROOT / "paper/paper.md").read_text()
    words = re.sub(r"<!--.*?-->", "", text.split("---\n", 2)[2], flags=re.DOTALL).split()
    assert 750 <= len(words) <= 1250
    parts = re.findall(r"^# (.+)$", text, re.MULTILINE)
    assert {"Summary", "Statement of need", "State of the field", "Design", "Evidence"} <= set(parts)
    for picture in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text):
        assert (ROOT / "paper" / picture).exists()


@pytest.fixture
def folder(tmp_path):
    """The files of a release as they should be, with nothing inside the modules."""
    version = drbo.__version__
    with tarfile.open(tmp_path / f"drbo-{version}.tar.gz", "w:gz") as archive:
        for name in [*release.IN_SDIST, *release._modules("src/drbo")]:
            archive.addfile(tarfile.TarInfo(f"drbo-{version}/{name}"), io.BytesIO())
    licences = "License-File: LICENSE\nLicense-File: licenses/nanobind.txt\n"
    about = {
        "METADATA": f"Version: {version}\n{licences}",
        "entry_points.txt": "[console_scripts]\ndrbo = drbo.cli:main",
    }
    with zipfile.ZipFile(tmp_path / f"drbo-{version}-cp312-abi3-linux_x86_64.whl", "w") as archive:
        for name in ("drbo/py.typed", "drbo/_core.pyi", "drbo/result/report/vendor/x.js", "drbo/_core.abi3.so"):
            archive.writestr(name, "")
        for name in release._modules("drbo"):
            archive.writestr(name, "")
        for name, text in about.items():
            archive.writestr(f"drbo-{version}.dist-info/{name}", text)
    bill = {
        "bomFormat": "CycloneDX",
        "metadata": {"component": {"name": "drbo", "version": version}},
        "components": [{"name": name} for name in ("numpy", "nanobind", "cytoscape")],
    }
    (tmp_path / "sbom.json").write_text(json.dumps(bill))
    with zipfile.ZipFile(tmp_path / "drbo-docs.zip", "w") as archive:
        for page in (ROOT / "docs").rglob("*.md"):
            name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
            archive.writestr(name, f"<title>drbo {version}</title>" if name == "index.html" else "")
    return tmp_path


def test_a_complete_release_gets_its_sums(folder, capsys):
    assert release.main(folder) == 0
    sums = (folder / "SHA256SUMS").read_text().splitlines()
    assert {line.split()[1] for line in sums} == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    assert f"drbo {drbo.__version__}" in capsys.readouterr().out


def test_what_a_release_lacks_is_said_at_once(folder, capsys):
    for path in folder.glob("*.gz"):
        path.unlink()
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("drbo/__pycache__/x.pyc", "")
        archive.writestr("drbo-1.dist-info/METADATA", "Version: 1\n")
    wheel.rename(folder / "drbo-1-cp312-abi3-linux_x86_64.whl")
    (folder / "sbom.json").write_text(json.dumps({"components": [{"name": "numpy"}]}))
    with zipfile.ZipFile(folder / "drbo-docs.zip", "w") as archive:
        archive.writestr("index.html", "drbo 0.1.0")
    assert release.main(folder) == 1
    said = capsys.readouterr().out
    for words in (
        "there is no sdist", "has no drbo/py.typed", "has no drbo/cli/__init__.py", "contains drbo/__pycache__/x.pyc",
        "has no compiled core", "has no command drbo", "says version 1", "names no licence LICENSE",
        "is of another version", "is not CycloneDX", "is not about drbo", "does not list cytoscape",
        "does not say drbo", "has no page guide/faq.html",
    ):  # fmt: skip
        assert words in said
    assert not (folder / "SHA256SUMS").exists()
