"""Find the documents that share content with a document.

open_store      a Solr collection by URL, or a folder on disk, as a Store
Store           index, search, explain, compare, delete, signature
Document        a text under an id, with a name and properties
Hit, Page       what a search gives back
Signature       a document's tokens
parse, unparse  the query language, text to tree and back
simhash         a text as one 64-bit code of which near-duplicates differ in few bits; simhashes of many texts
WhorlError      the base of every error raised on purpose (the tree is in whorl.errors)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.errors import WhorlError
    from whorl.fingerprint.minhash.signature import Signature
    from whorl.fingerprint.simhash.simhash import simhash, simhashes
    from whorl.model import Document, Hit, Page
    from whorl.query.parser import parse, unparse
    from whorl.store import Store, open_store

    __version__: str

__all__ = [
    "Document",
    "Hit",
    "Page",
    "Signature",
    "Store",
    "WhorlError",
    "open_store",
    "parse",
    "simhash",
    "simhashes",
    "unparse",
]

#: Where a name is imported from when it is first asked for: a command that needs few of them starts sooner.
_HOMES = {
    "Document": "whorl.model",
    "Hit": "whorl.model",
    "Page": "whorl.model",
    "Signature": "whorl.fingerprint.minhash.signature",
    "Store": "whorl.store",
    "WhorlError": "whorl.errors",
    "open_store": "whorl.store",
    "parse": "whorl.query.parser",
    "simhash": "whorl.fingerprint.simhash.simhash",
    "simhashes": "whorl.fingerprint.simhash.simhash",
    "unparse": "whorl.query.parser",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("whorl")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
