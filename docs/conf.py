"""The site: Markdown pages, the reference from docstrings, the commands from click, and the gallery from examples/."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import drbo  # noqa: E402  (found in src, so that the site describes this checkout)

project = "drbo"
copyright = "The drbo developers"
release = version = drbo.__version__
html_title = f"drbo {release}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "accessible",
    "commands",
    "docstrings",
    "fields",
    "live",
    "sources",
    "tables",
]
exclude_patterns = ["_live"]
myst_enable_extensions = ["attrs_block", "colon_fence"]
myst_heading_anchors = 3
highlight_language = "text"  # of blocks that name none: shell commands

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures of types are long; the parameters are described in words
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "ignore_repr_types": r"matplotlib\..*",
    "min_reported_time": 1e6,  # seconds: times of one machine are no part of the site
    "write_computation_times": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "furo"
html_static_path = ["_static"]
html_extra_path = ["_live"]  # filled by _ext/live.py
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sphinx = False
copybutton_exclude = ".linenos, .gp, .go"
html_theme_options = {
    "sidebar_hide_name": True,
    "light_css_variables": {
        "color-brand-primary": "#0a5ea8",
        "color-brand-content": "#0a5ea8",
        "color-brand-visited": "#0a5ea8",
        "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
    },
    "dark_css_variables": {
        "color-brand-primary": "#6db8f5",
        "color-brand-content": "#6db8f5",
        "color-brand-visited": "#6db8f5",
    },
}
