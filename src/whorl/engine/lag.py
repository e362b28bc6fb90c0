"""Warning or error for results from an index that lacks stored documents."""

from __future__ import annotations

from whorl.engine.protocol import Engine
from whorl.errors import StoreError


def lag_warnings(engine: Engine) -> tuple[str, ...]:
    """Return a warning if the index lacks stored documents, else nothing.

    The engine first tries to bring its index up to date, so call this before the search.
    """
    lag = engine.index_lag()
    return (f"{lag_message(lag)}; this answer leaves them out",) if lag else ()


def require_current_index(engine: Engine, operation: str) -> None:
    """Raise StoreError if the index lacks stored documents.

    Args:
        engine: The store.
        operation: Name, for the message, of the operation that would be wrong without these documents.
    """
    if lag := engine.index_lag():
        raise StoreError(f"{lag_message(lag)}; {operation} would be wrong without them")


def lag_message(lag: int) -> str:
    """Return a message with the size of a lag and its remedy."""
    one = lag == 1
    return (
        f"{lag:,} stored or deleted {'document is' if one else 'documents are'} missing from the index, which could "
        "not be written: free some room on the disk, and it is brought up to date by itself"
    )
