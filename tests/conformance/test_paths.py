"""Tests of paths with `//`, which is any depth as in Alfresco, on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from whorl import Document, Store
from whorl.errors import FieldError

LIBRARY = "/app:company_home/st:sites/cm:swsdp/cm:documentLibrary"
PATHS = {
    "home": "/app:company_home/cm:lease.txt",
    "library": f"{LIBRARY}/cm:lease.txt",
    "deep": f"{LIBRARY}/cm:leases/cm:2024/cm:lease.txt",
    "other": "/app:company_home_2/cm:documentLibrary_2/cm:lease.txt.old",
}


@pytest.fixture(scope="module")
def stored(store: Store) -> Iterator[Store]:
    store.index(Document(f"path {name}", "a text of its own", name, {"PATH": path}) for name, path in PATHS.items())
    yield store
    store.delete([f"path {name}" for name in PATHS])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("//*", {*PATHS}),
        ("/app:company_home//*", {"home", "library", "deep"}),
        (f"{LIBRARY}//*", {"library", "deep"}),
        ("/app:company_home/st:sites/*/cm:documentLibrary//*", {"library", "deep"}),
        ("//cm:documentLibrary//*", {"library", "deep"}),
        ("//cm:lease.txt", {"home", "library", "deep"}),
        ("/app:company_home//cm:lease.txt", {"home", "library", "deep"}),
        ("//cm:swsdp//cm:2024//cm:lease.txt", {"deep"}),
        ("//cm:lease", set()),
        ("//cm:documentLibrary", set()),
        (PATHS["library"], {"library"}),
        (LIBRARY, set()),
        ("cm:documentLibrary", {"library", "deep"}),
        # A * that is not an axis is any number of characters, also of several steps.
        ("/app:company_home/*", {"home", "library", "deep"}),
    ],
)
def test_paths_of_any_depth(stored: Store, path: str, expected: set[str]) -> None:
    """
    `//` stands for any number of steps, at the beginning, between steps and before a last `*`.
    """
    page = stored.search(f'PATH:"{path}"')
    assert {hit.name for hit in page.hits} == expected
    assert not page.warnings


def test_paths_of_any_depth_in_conditions(stored: Store) -> None:
    """
    A path counts once, and can be excluded.
    """
    page = stored.search(f'PATH:"{LIBRARY}//*"^3 OR id:path*')
    assert {hit.name: hit.score for hit in page.hits} == {"library": 4.0, "deep": 4.0, "home": 1.0, "other": 1.0}
    page = stored.search('NOT PATH:"//cm:documentLibrary//*"', filter="id:path*")
    assert {hit.name for hit in page.hits} == {"home", "other"}


def test_too_many_axes(stored: Store) -> None:
    """
    The number of `//` is limited.
    """
    with pytest.raises(FieldError, match="// 4 times, got 5"):
        stored.search('PATH:"//a//b//c//d//*"')
