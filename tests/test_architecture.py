"""Rules of the architecture: imports go down only, I/O stays in its packages, modules stay small. See
docs/internals.md.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "whorl"

#: The packages, from the ground up. A module imports from its own package and from those earlier in this list.
PACKAGES = (
    *(
        "errors",
        "request_context",
        "arrays_and_batches",
        "connected_components",
        "file_lock",
        "lazy_exports",
    ),
    *("fingerprint", "hamming", "query", "query.plan", "model", "operations"),
    *("engine", "ingest.extraction", "settings", "ingest"),
    *(
        "search.boilerplate",
        "search.document_references",
        "search.similar",
        "search.attribution",
        "duplicates",
        "search",
    ),
    *("store", "search.repeats_of_new_documents", "simhash_compat"),
    *("output", "service", "mcp", "cli"),
)
#: Packages that must not import each other, although one is lower.
INDEPENDENT_PACKAGES = (
    ("query.parser", "fingerprint"),
    ("query.ast_builder", "fingerprint"),
    ("engine.embedded", "engine.solr"),
    ("engine.opensearch", "engine.solr"),
    ("engine.opensearch", "engine.embedded"),
    ("service", "engine.opensearch"),
    ("query.plan", "engine"),
    ("service", "engine.solr"),
    ("service", "fingerprint"),
)
#: Libraries that do I/O, and the packages that may import them.
IO_LIBRARIES = {
    "requests": "engine.solr engine.local",
    "pysolr": "engine.solr",
    "tantivy": "engine.embedded",
    "pyspark": "duplicates.spark",
    "pyarrow": "ingest.rows duplicates.spark output",
    "warcio": "ingest.rows",
    "fsspec": "ingest",
    "subprocess": "engine.local ingest.extraction ingest.rows fingerprint.compiled",
    "opensearchpy": "engine.opensearch",
    "pypdfium2": "ingest.extraction",
    "docx": "ingest.extraction",
    "pptx": "ingest.extraction",
    "openpyxl": "ingest.extraction",
    "lxml": "ingest.extraction",
    "fastapi": "service",
    "mcp": "mcp",
    "mcp_types": "mcp",
    "click": "cli duplicates.spark",
    "rich": "cli",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


MODULES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.stem[0] != "_"}


def is_in(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def rank(name: str) -> int:
    """Return the index of a module's package in PACKAGES; for nested packages, the index of the inner one."""
    return max(
        (at for at, package in enumerate(PACKAGES) if is_in(name, package)),
        key=lambda at: len(PACKAGES[at]),
        default=-1,
    )


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@cache
def imported(name: str) -> set[str]:
    """Return the full names of the modules that a module imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from whorl.query import ast` names a module, `from whorl.errors import Span` does not.
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {module for module in inner if module.removeprefix("whorl.") in MODULES}
            names |= modules if len(modules) == len(inner) else {node.module, *modules}
    return names


def ours(name: str) -> set[str]:
    """Return the names of whorl's modules that a module imports, without the prefix `whorl.`."""
    return {module.removeprefix("whorl.") for module in imported(name) if module.startswith("whorl.")}


def test_imports_go_down() -> None:
    """
    A module imports only from its own package or from a lower one.
    """
    assert [name for name in MODULES if rank(name) < 0] == [], "these are in no package: add them to PACKAGES"
    upward = {
        name: {other_module for other_module in ours(name) if rank(other_module) > rank(name)} for name in MODULES
    }
    assert {name: modules for name, modules in upward.items() if modules} == {}


@pytest.mark.parametrize(("one", "other"), INDEPENDENT_PACKAGES)
def test_some_packages_do_not_import_each_other(one: str, other: str) -> None:
    """
    Some packages do not import each other.
    """
    users = [
        name for name in MODULES if is_in(name, one) and any(is_in(other_module, other) for other_module in ours(name))
    ]
    assert users == []


@pytest.mark.parametrize(("library", "packages"), IO_LIBRARIES.items())
def test_io_libraries_stay_in_their_packages(library: str, packages: str) -> None:
    """
    A library that does I/O is imported only by its packages.
    """
    users = {name for name in MODULES if library in {module.split(".")[0] for module in imported(name)}}
    assert {name for name in users if not any(is_in(name, package) for package in packages.split())} == set()


def test_only_settings_read_the_environment() -> None:
    """
    Only `settings` and `engine.local` read `os.environ`: the former for settings, the latter to find Java and caches.
    """
    sources = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    # A default for another library is set, not read.
    readers = {name for name, source in sources.items() if "os.environ" in source.replace("os.environ.setdefault(", "")}
    assert {name for name in readers if not is_in(name, "settings") and not is_in(name, "engine.local")} == set()


def test_modules_stay_small() -> None:
    """
    No module has more than 900 lines.
    """
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > 900} == {}


def has_code(name: str) -> bool:
    """Check that a function in a module has a body; some modules have only names and types."""
    functions = [node for node in ast.walk(tree(name)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(
        not isinstance(part, ast.Expr) or not isinstance(part.value, ast.Constant) for f in functions for part in f.body
    )


def test_a_module_has_its_tests() -> None:
    """
    Every module with code has a test file of the same name: `query/parser.py` has `tests/query/test_parser.py`.
    """
    paths = [path.relative_to(SOURCE) for name, path in MODULES.items() if path.stem != "__init__" and has_code(name)]
    tests = Path(__file__).parent
    assert [path for path in paths if not (tests / path.parent / f"test_{path.name}").is_file()] == []


def test_no_cycles() -> None:
    """
    No module imports itself, directly or through others.
    """
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, " -> ".join([*above, name])
        if name not in done:
            for other in ours(name) & MODULES.keys():
                visit(other, (*above, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    named = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return len([argument for argument in named if argument.arg not in ("self", "cls")])


def test_functions_have_few_parameters() -> None:
    """
    A function has at most 7 parameters, apart from self and cls. Compiled loops take arrays instead of objects, so they
    may have more.
    """
    crowded = [
        f"{name}.{node.name}"
        for name in MODULES
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "compiled" not in name and parameters(node) > 7
    ]
    assert crowded == []
