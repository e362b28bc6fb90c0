"""Near-duplicates: all pairs and clusters of a store, or of documents that are in none.

duplicates_among  those among documents that need be in no store
duplicates_in     those in a store
ask_pairs         the question: a metric, a threshold and a recall
superfluous       the members of clusters that could be deleted
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.duplicates.gathering import duplicates_among, duplicates_in
    from whorl.duplicates.question import ask_pairs
    from whorl.duplicates.result import superfluous

__all__ = ["ask_pairs", "duplicates_among", "duplicates_in", "superfluous"]
_HOMES = {
    "ask_pairs": "question",
    "duplicates_among": "gathering",
    "duplicates_in": "gathering",
    "superfluous": "result",
}


def __getattr__(name: str) -> Any:
    """Import these names when they are asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
