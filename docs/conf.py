"""How Sphinx makes a site of this folder; `make docs` calls it. Generated parts are put into pages as they are read."""

from __future__ import annotations

import os
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from reference_pages import PAGES

ROOT = Path(__file__).parents[1]

project = "whorl"
author = project_copyright = "the authors of whorl"
release = metadata.version("whorl")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"

html_theme = "furo"
html_title = "whorl"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_copy_source = False
# Guides come before Python attributes and decisions.
html_search_scorer = str(ROOT / "docs" / "site" / "scorer.js")
html_show_sphinx = False

# Headings down to this level can be linked to, and each such link is checked.
myst_heading_anchors = 4

# Docstrings are written as Google has them, with code between single backticks.
default_role = "code"
napoleon_numpy_docstring = False
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"


#: Pages of the site that are files elsewhere: a page's line `% from: FILE` stands for what is in that file.
MOVED = {
    "README.md": "docs/index.md",
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "SECURITY.md": "docs/reporting.md",
    "benchmarks/README.md": "docs/benchmarks.md",
    "docs/decisions": "docs/decisions/index.md",
}


def _fill(app: Any, docname: str, source: list[str]) -> None:
    """Put in what is generated and what is kept elsewhere, and have links lead to pages where there are such."""
    here = ROOT / "docs" / Path(docname).parent

    def relinked(text: str, folder: Path) -> str:
        def lead(link: re.Match[str]) -> str:
            target = os.path.relpath(os.path.normpath(folder / link[1]), ROOT)
            return f"]({os.path.relpath(ROOT / MOVED.get(target, target), here)}{link[2] or ''})"

        return re.sub(r"\]\((?!\w+:)([^)#\s]+)(#[^)]*)?\)", lead, text)

    def kept(line: re.Match[str]) -> str:
        file = ROOT / line[1]
        return relinked(file.read_text(encoding="utf-8"), file.parent)

    text = relinked(source[0], here)
    text = re.sub(r"^% from: (\S+)$", kept, text, flags=re.M)
    source[0] = re.sub(r"^% generated: (\w+)$", lambda line: "\n".join(PAGES[line[1]]()), text, flags=re.M)


def setup(app: Any) -> None:
    """Have pages filled as they are read."""
    app.connect("source-read", _fill)
