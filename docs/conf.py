"""How the documents become web pages: `make docs`. The sources are all Markdown files of the project."""

import sys
from pathlib import Path

import unbend

sys.path.insert(0, str(Path(__file__).parent))
import commands

project = "unbend"
author = "the authors of unbend"
version = release = unbend.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "notebook_pages"]
root_doc = "docs/index"
source_suffix = {".md": "markdown"}
include_patterns = ["docs/**", "*.md", "tests/data/faithfulness/README.md"]
exclude_patterns = ["target/**", ".venv/**", "demo/**"]

html_theme = "furo"
html_title = f"unbend {release}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
# Tables of the experiments stand below the headings that their programs print.
suppress_warnings = ["myst.header"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": "tuple, Warning, Exception"}
autosummary_generate = False
numpydoc_show_class_members = False


def setup(app):
    """Leave out methods of scikit-learn, and add the reference of the command line."""
    app.connect("autodoc-skip-member", _is_of_others)
    app.connect("source-read", commands.insert)


def _is_of_others(app, what, name, member, skip, options):
    return True if str(getattr(member, "__module__", "")).startswith("sklearn") else None
