"""Find the documents that share content with a document. docs/python.md shows how to use the API.

A store:

open_store      a Solr collection by URL, or a folder on disk, as a Store
Store           index, search, similar, sources, compare, explain, delete, signature
Settings        settings from variables and whorl.toml; FieldNames, the names of a Solr collection's fields
QueryDefaults   defaults for reading queries, with Operator and QueryLimits
PreparedQuery   a query parsed once, with QueryOptions, to search, count, measure and explain;
                PreparedSimilar, the same for a similar search
Explanation     the plan and the request of a query

Inputs and results:

Document        a text with an id, a name and properties; Stored, its stored fields; Indexed, numbers of documents
                stored, with IndexOptions
Hit, Page       the results of a search, sorted by Order; Kind, the type of a field's values
Similar         the results of a search for similar documents, each a SimilarHit, with SimilarOptions; SketchPlan,
                Branch, RestPlan and MinHashPlan, its search plans
Attribution     the documents that account for a text, each a TextSource, found with a Promise and
                SourcesOptions; CommonOptions, options for common text
Measured        a hit's overlap with a query's source; Snippet, a part of its text with the query's words
Comparison      two texts compared exactly, with each shared Passage, the Size of both, and the Rest without
                Common text
Metric, Shares  the three shares by name, and their values; Estimate, with their intervals
Signature       a document's MinHash fingerprint, under a Scheme, in a Spelling
Sketch          a sample of a document's shingles for calibrated search, under a SketchScheme

Duplicates:

duplicates_in, duplicates_among   the duplicates in a store, or among documents without a store, as Duplicates
ask_pairs       PairOptions; ask_common, BoilerplateOptions; DuplicatesOptions, these and all others, with the
                Granularity of the comparison
superfluous     the members of clusters that can be deleted; Keep, the retention policy
Pair, Cluster, Member             the results; Version, a member in the order of versions, with its Own text,
                in words with_words; PairColumns, ClusterColumns, many results at once
write_ids       writes cluster labels into a store; Marked, numbers of documents labelled
RepeatSearch    novelty check: the documents that new ones repeat, as Repeats, each Repeated

reporting       calls a function with the progress of the work inside

Without a store:

compare         two texts compared exactly
parse, unparse  the query language, text to tree and back; quote, for user input in queries
simhash         a text as one 64-bit code; codes of near-duplicates differ in few bits; simhashes, codes of many texts

Errors: WhorlError is the base of all. QueryError (QuerySyntaxError, UnsupportedQueryError, FieldError with
UnknownFieldError) has a Span; ParameterError (UnknownDocumentError, CodeRangeError, CodeTypeError), DocumentError,
StoreError, StoppedError, SchemeMismatchError, and EngineError (EngineUnavailableError, EngineResponseError,
SchemaError, NoSketchesError).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whorl.context import reporting
    from whorl.duplicates.boilerplate import BoilerplateOptions, ask_common
    from whorl.duplicates.clusters import Own
    from whorl.duplicates.options import DuplicatesOptions, Granularity, Keep, PairOptions, ask_pairs
    from whorl.duplicates.output import Marked, write_ids
    from whorl.duplicates.result import (
        Cluster,
        ClusterColumns,
        Duplicates,
        Member,
        Pair,
        PairColumns,
        Version,
        superfluous,
        with_words,
    )
    from whorl.duplicates.run import duplicates_among, duplicates_in
    from whorl.engine.solr.schema import FieldNames
    from whorl.errors import (
        CodeRangeError,
        CodeTypeError,
        DocumentError,
        EngineError,
        EngineResponseError,
        EngineUnavailableError,
        FieldError,
        NoSketchesError,
        ParameterError,
        QueryError,
        QuerySyntaxError,
        SchemaError,
        SchemeMismatchError,
        Span,
        StoppedError,
        StoreError,
        UnknownDocumentError,
        UnknownFieldError,
        UnsupportedQueryError,
        WhorlError,
    )
    from whorl.fingerprint.compare import Comparison, Passage, Rest, Size, compare
    from whorl.fingerprint.minhash.codec import Spelling
    from whorl.fingerprint.minhash.signature import Signature
    from whorl.fingerprint.scheme import Scheme
    from whorl.fingerprint.sketch.sketch import Sketch, SketchScheme
    from whorl.fingerprint.statistics.estimate import Estimate
    from whorl.fingerprint.statistics.metric import Metric, Shares
    from whorl.hamming.simhash import simhash, simhashes
    from whorl.ingest.indexing import IndexOptions
    from whorl.model import Document, Hit, Indexed, Order, Page, Stored
    from whorl.query.ast import Operator
    from whorl.query.literals import quote
    from whorl.query.options import QueryLimits
    from whorl.query.parser import parse, unparse
    from whorl.query.plan.defaults import QueryDefaults
    from whorl.query.plan.nodes import Kind
    from whorl.search.attribution.options import SourcesOptions
    from whorl.search.attribution.results import Attribution, Common, Promise, TextSource
    from whorl.search.boilerplate import CommonOptions
    from whorl.search.novelty import Repeated, Repeats, RepeatSearch
    from whorl.search.prepared import Explanation, PreparedQuery, PreparedSimilar, QueryOptions
    from whorl.search.similar.minhash_plan import MinHashPlan
    from whorl.search.similar.options import SimilarOptions
    from whorl.search.similar.plan import Branch, RestPlan, SketchPlan
    from whorl.search.similar.results import Measured, Similar, SimilarHit
    from whorl.search.snippets import Snippet
    from whorl.settings.settings import Settings
    from whorl.store import Store, open_store

    __version__: str

__all__ = [
    "Attribution",
    "BoilerplateOptions",
    "Branch",
    "Cluster",
    "ClusterColumns",
    "CodeRangeError",
    "CodeTypeError",
    "Common",
    "CommonOptions",
    "Comparison",
    "Document",
    "DocumentError",
    "Duplicates",
    "DuplicatesOptions",
    "EngineError",
    "EngineResponseError",
    "EngineUnavailableError",
    "Estimate",
    "Explanation",
    "FieldError",
    "FieldNames",
    "Granularity",
    "Hit",
    "IndexOptions",
    "Indexed",
    "Keep",
    "Kind",
    "Marked",
    "Measured",
    "Member",
    "Metric",
    "MinHashPlan",
    "NoSketchesError",
    "Operator",
    "Order",
    "Own",
    "Page",
    "Pair",
    "PairColumns",
    "PairOptions",
    "ParameterError",
    "Passage",
    "PreparedQuery",
    "PreparedSimilar",
    "Promise",
    "QueryDefaults",
    "QueryError",
    "QueryLimits",
    "QueryOptions",
    "QuerySyntaxError",
    "RepeatSearch",
    "Repeated",
    "Repeats",
    "Rest",
    "RestPlan",
    "SchemaError",
    "Scheme",
    "SchemeMismatchError",
    "Settings",
    "Shares",
    "Signature",
    "Similar",
    "SimilarHit",
    "SimilarOptions",
    "Size",
    "Sketch",
    "SketchPlan",
    "SketchScheme",
    "Snippet",
    "SourcesOptions",
    "Span",
    "Spelling",
    "StoppedError",
    "Store",
    "StoreError",
    "Stored",
    "TextSource",
    "UnknownDocumentError",
    "UnknownFieldError",
    "UnsupportedQueryError",
    "Version",
    "WhorlError",
    "ask_common",
    "ask_pairs",
    "compare",
    "duplicates_among",
    "duplicates_in",
    "open_store",
    "parse",
    "quote",
    "reporting",
    "simhash",
    "simhashes",
    "superfluous",
    "unparse",
    "with_words",
    "write_ids",
]

_NAMES = {
    "context": "reporting",
    "search.boilerplate": "CommonOptions",
    "duplicates.run": "duplicates_among duplicates_in",
    "duplicates.clusters": "Own",
    "duplicates.output": "Marked write_ids",
    "duplicates.boilerplate": "BoilerplateOptions ask_common",
    "duplicates.options": "DuplicatesOptions Granularity Keep PairOptions ask_pairs",
    "duplicates.result": "Cluster ClusterColumns Duplicates Member Pair PairColumns Version superfluous with_words",
    "engine.solr.schema": "FieldNames",
    "fingerprint.minhash.codec": "Spelling",
    "fingerprint.minhash.signature": "Signature",
    "fingerprint.compare": "compare Comparison Passage Rest Size",
    "fingerprint.scheme": "Scheme",
    "hamming.simhash": "simhash simhashes",
    "fingerprint.sketch.sketch": "Sketch SketchScheme",
    "fingerprint.statistics.estimate": "Estimate",
    "fingerprint.statistics.metric": "Metric Shares",
    "ingest.indexing": "IndexOptions",
    "model": "Document Hit Indexed Order Page Stored",
    "query.plan.nodes": "Kind",
    "query.plan.defaults": "QueryDefaults",
    "search.prepared": "Explanation PreparedQuery PreparedSimilar QueryOptions",
    "query.ast": "Operator",
    "query.options": "QueryLimits",
    "query.literals": "quote",
    "query.parser": "parse unparse",
    "search.novelty": "Repeated Repeats RepeatSearch",
    "settings.settings": "Settings",
    "search.similar.results": "Measured Similar SimilarHit",
    "search.similar.minhash_plan": "MinHashPlan",
    "search.similar.plan": "Branch RestPlan SketchPlan",
    "search.similar.options": "SimilarOptions",
    "search.snippets": "Snippet",
    "search.attribution.options": "SourcesOptions",
    "search.attribution.results": "Attribution Common Promise TextSource",
    "store": "Store open_store",
}
#: Home module of each name; names are imported on first use, so that commands start faster.
_HOMES = {name: f"whorl.{home}" for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("whorl")
    elif name in __all__:
        value = getattr(import_module(_HOMES.get(name, "whorl.errors")), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
