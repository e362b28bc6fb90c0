"""Find the documents that share content with a document.

open_store      a Solr collection by URL, or a folder on disk, as a Store
Store           index, search, explain, delete, signature
Document        a text under an id, with a name and properties
Hit, Page       what a search gives back
Signature       a document's tokens
parse, unparse  the query language, text to tree and back
WhorlError      the base of every error raised on purpose (the tree is in whorl.errors)
"""

from importlib.metadata import version

from whorl.engine.base import Document, Hit, Page
from whorl.errors import WhorlError
from whorl.fingerprint.minhash import Signature
from whorl.query.parser import parse, unparse
from whorl.store import Store, open_store

__version__ = version("whorl")

__all__ = ["Document", "Hit", "Page", "Signature", "Store", "WhorlError", "open_store", "parse", "unparse"]
