"""A page with the source of every module, and links to files of the repository lead to the pages made of them.

Pages say ``[loop.py](../src/drbo/search/loop.py)``, which GitHub follows; on the site the same link opens the module,
and a link to an example opens its page of the gallery.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.viewcode import OUTPUT_DIRNAME
from sphinx.pycode import ModuleAnalyzer
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).parents[2]
SOURCE, EXAMPLES = ROOT / "src", ROOT / "examples"


class LinksToFiles(SphinxTransform):
    """Turn links to files, which MyST takes for downloads, into links to the pages made of them."""

    default_priority = 400

    def apply(self, **options: Any) -> None:
        for link in list(self.document.findall(addnodes.download_reference)):
            path = (Path(self.env.doc2path(self.env.docname)).parent / link["reftarget"]).resolve()
            if page := page_of(path):
                uri = self.app.builder.get_relative_uri(self.env.docname, page)
                link.replace_self(nodes.reference("", "", *link.children, internal=True, refuri=uri))


def page_of(path: Path) -> str | None:
    """Return the page that is made of a file of the repository."""
    if path.is_relative_to(EXAMPLES):
        return f"gallery/{path.stem}"
    if path.is_relative_to(SOURCE) and path.suffix == ".py":
        return f"{OUTPUT_DIRNAME}/{module_of(path).replace('.', '/')}"
    return None


def module_of(path: Path) -> str:
    """Return the dotted name of a file under src."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def collect_modules(app: Sphinx, env: BuildEnvironment) -> None:
    """Give viewcode the modules that no reference page describes."""
    known = env._viewcode_modules  # type: ignore[attr-defined]
    for path in sorted((SOURCE / "drbo").rglob("*.py")):
        name = module_of(path)
        if not known.get(name):
            analyzer = ModuleAnalyzer.for_file(path, name)  # not imported: one of them needs a GPU
            analyzer.find_tags()
            known[name] = analyzer.code, analyzer.tags, {}, name


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and the collector."""
    app.setup_extension("sphinx.ext.viewcode")
    app.add_transform(LinksToFiles)
    app.connect("env-updated", collect_modules)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
