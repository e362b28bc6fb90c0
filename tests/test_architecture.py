"""The layers: imports go down only, no module grows past 600 lines, I/O stays where it belongs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "whorl"

#: From the ground up; a module may import from its own layer's row only where that row is one package.
LAYERS: list[list[str]] = [
    ["errors", "deadline", "trace"],
    ["extraction"],
    ["fingerprint"],
    ["corpus"],
    ["query"],
    ["dates"],
    ["clauses"],
    ["patterns", "values"],
    ["plan", "fields"],
    ["resolve", "conventions"],
    ["engine.base", "engine.reference"],
    ["solr"],
    ["engine.rows", "engine.term_expressions"],
    [
        "engine.records",
        "engine.inverted",
        "engine.clause_queries",
        "engine.translation",
        "engine.contents",
        "engine.ordering",
    ],
    ["engine.embedded", "engine.solr"],
    ["setting_kinds"],
    ["settings"],
    ["similar"],
    ["similar_tokens", "measure", "duplicates"],
    ["store", "reading"],
    ["spark"],
    ["show"],
    ["show_similar", "show_duplicates", "comparison"],
    ["service", "demo", "show_comparison"],
    ["cli_solr", "cli_duplicates", "cli_simhash", "cli_hamming"],
    ["cli"],
]
#: What must not know of the other, although it stands below.
STRANGERS = [("query", "fingerprint"), ("service", "solr"), ("service", "fingerprint"), ("plan", "engine")]
#: Libraries that do I/O, and who may import them.
DOORS = {
    "requests": {"solr.client", "solr.transport", "solr.launcher", "solr.jars"},
    "pysolr": {"solr.client"},
    "sqlite3": {"engine.records", "engine.embedded", "corpus.archive"},
    "pyspark": {
        "spark.candidates",
        "spark.components",
        "spark.documents",
        "spark.frames",
        "spark.job",
        "spark.pairs",
        "spark.search",
    },
    "tantivy": {"engine.inverted", "engine.translation", "engine.clause_queries", "engine.contents"},
    "subprocess": {"solr.launcher", "solr.jars", "extraction.reader"},
    "pypdfium2": {"extraction.pdf"},
    "docx": {"extraction.office"},
    "pptx": {"extraction.office"},
    "openpyxl": {"extraction.office"},
    "lxml": {"extraction.office"},
}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py" or path.parent != SOURCE)


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def layer_of(name: str) -> int:
    for number, row in enumerate(LAYERS):
        if any(name == entry or name.startswith(f"{entry}.") for entry in row):
            return number
    if name in ("engine", "service", "solr", "query", "fingerprint"):
        return -1
    raise AssertionError(f"{name} stands in no layer: add it to LAYERS")


def imported(path: Path) -> set[str]:
    """Return the full names of the modules that a file imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from whorl.query import ast` names a module, `from whorl.errors import Span` does not.
            for alias in node.names:
                inner = SOURCE / Path(*node.module.split(".")[1:]) / f"{alias.name}.py"
                is_module = node.module.startswith("whorl") and inner.exists()
                names.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return names


def ours(path: Path) -> set[str]:
    return {name.removeprefix("whorl.") for name in imported(path) if name.startswith("whorl.")}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down(path: Path) -> None:
    """
    A module imports from lower layers, or from its own package.
    """
    name = name_of(path)
    for other in ours(path):
        same_package = "." in name and name.split(".")[0] == other.split(".")[0]
        lower = layer_of(other) < layer_of(name)
        offers = other.startswith(f"{name}.")  # what a package offers under its own name
        assert lower or offers or (same_package and layer_of(other) == layer_of(name)), f"{name} imports {other}"


@pytest.mark.parametrize(("one", "other"), STRANGERS)
def test_strangers(one: str, other: str) -> None:
    """
    Some layers do not know each other.
    """
    for path in MODULES:
        if name_of(path).split(".")[0] == one:
            assert not {name for name in ours(path) if name.split(".")[0] == other}, name_of(path)


@pytest.mark.parametrize("library", DOORS)
def test_doors(library: str) -> None:
    """
    A library that does I/O is imported by the modules named for it alone.
    """
    users = {name_of(path) for path in MODULES if library in {name.split(".")[0] for name in imported(path)}}
    assert users <= DOORS[library]


def test_only_settings_read_the_environment() -> None:
    """
    `os.environ` has one reader.
    """
    readers = {name_of(path) for path in MODULES if "os.environ" in path.read_text(encoding="utf-8")}
    assert readers <= {"settings", "solr.jars"}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_stay_small(path: Path) -> None:
    """
    600 lines are enough for one idea.
    """
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


def test_no_cycles() -> None:
    """
    No module is reached from itself.
    """
    graph = {name_of(path): ours(path) for path in MODULES}

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above, name])
        for other in graph.get(name, ()):
            visit(other, (*above, name))

    for name in graph:
        visit(name, ())
