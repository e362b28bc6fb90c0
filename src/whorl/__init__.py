"""Find the documents that share content with a document. docs/python.md shows how to use the API.

A store:

open_store      a Solr collection by URL, or a folder on disk, as a Store
Store           index, search, similar, sources, verify, compare, explain, delete, signature
Settings        settings from variables and whorl.toml; FieldNames, the names of a collection's or index's fields
QueryDefaults   defaults for reading queries, with Operator and QueryLimits
PreparedQuery   a query parsed once, with QueryOptions (SearchOptions for a search), to search, measure and explain;
                PreparedSimilar, the same for a similar search
Explanation     the plan and the request of a query

Inputs and results:

Document        a text with an id, a name and properties; Stored, its stored fields; Indexed, the numbers of documents
                in an indexing run, with IndexOptions
Hit, Page       the results of a search, sorted by Order; Kind, the type of a field's values;
                DocumentCount, the result of a count
Similar         the results of a search for similar documents, each a SimilarHit, with SimilarOptions; SketchPlan,
                Branch, ResidualPlan and MinHashPlan, its search plans
Attribution     the documents that a text comes from, each a TextSource, with a Promise of the recall; SourcesOptions;
                HashedPassage, a passage in a store without texts; CommonOptions, options for common text
Verification    the quotations of a text, each a VerifiedQuotation: its Quotation, each NamedSource of it, a Verdict,
                each QuotedPlace with every Difference, and the LookUp of its words; VerifyOptions; GivenQuotation,
                given without a text
Measured        a hit's overlap with a query's source; Snippet, a part of its text with the query's words
Comparison      two texts compared exactly, with CompareOptions, their shared Passages, each a Passage, the Size of
                both, and the ResidualOverlap without Common text
Metric, Shares  the names of the three shares, and their values; Estimate, the values with their intervals
Signature       a document's MinHash fingerprint, made under a Scheme; TokenEncoding, the form of its tokens in an index
Sketch          a sample of a document's shingles for calibrated search, under a SketchScheme

Duplicates:

deduplicate     near-duplicates among texts in memory, as a Deduplication: mask, clusters, pairs and a
                DeduplicationSummary; with DeduplicationOptions
duplicates_in, duplicates_among   the duplicates in a store, or among documents without a store, as Duplicates
find_in_documents                 the documents that contain texts of a reference, as ReferenceMatches;
                                  ReferenceItem, the matches of one item of the reference
parse_pair_options                checks a user's values and returns PairOptions; parse_boilerplate_options returns
                                  BoilerplateOptions; DuplicatesOptions holds all options of a search, with the
                                  Granularity of the comparison
documents_to_remove               the members of clusters that can be deleted; Keep, the retention policy
Pair, Cluster, Member             the results; Version, a member in a cluster sorted by version, with its UnsharedText;
                with_words fills in the words of versions; PairColumns, ClusterColumns, many results as arrays
write_ids       writes cluster labels into a store; LabelCounts, the numbers of labelled documents
RepeatSearch    novelty check: the documents that new documents repeat, as NewDocumentRepeats, each a RepeatedDocument

SimilarOperation, SourcesOperation, SearchOperation, ExplainOperation, CompareOperation, VerifyOperation,
DeleteOperation the options of an operation as one object
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

from typing import TYPE_CHECKING, Any

from whorl.lazy_exports import lazily

if TYPE_CHECKING:
    from whorl.duplicates.contamination import ReferenceItem as ReferenceItem
    from whorl.duplicates.contamination import ReferenceMatches as ReferenceMatches
    from whorl.duplicates.contamination import find_in_documents as find_in_documents
    from whorl.duplicates.deduplicate_in_memory import Deduplication as Deduplication
    from whorl.duplicates.deduplicate_in_memory import DeduplicationOptions as DeduplicationOptions
    from whorl.duplicates.deduplicate_in_memory import DeduplicationSummary as DeduplicationSummary
    from whorl.duplicates.deduplicate_in_memory import deduplicate as deduplicate
    from whorl.duplicates.options import DuplicatesOptions as DuplicatesOptions
    from whorl.duplicates.options import Granularity as Granularity
    from whorl.duplicates.options import PairOptions as PairOptions
    from whorl.duplicates.options import parse_pair_options as parse_pair_options
    from whorl.duplicates.remove_common_shingles import BoilerplateOptions as BoilerplateOptions
    from whorl.duplicates.remove_common_shingles import parse_boilerplate_options as parse_boilerplate_options
    from whorl.duplicates.results import Cluster as Cluster
    from whorl.duplicates.results import ClusterColumns as ClusterColumns
    from whorl.duplicates.results import Duplicates as Duplicates
    from whorl.duplicates.results import Member as Member
    from whorl.duplicates.results import Pair as Pair
    from whorl.duplicates.results import PairColumns as PairColumns
    from whorl.duplicates.results import UnsharedText as UnsharedText
    from whorl.duplicates.results import Version as Version
    from whorl.duplicates.results import documents_to_remove as documents_to_remove
    from whorl.duplicates.results import with_words as with_words
    from whorl.duplicates.retention import Keep as Keep
    from whorl.duplicates.run import duplicates_among as duplicates_among
    from whorl.duplicates.run import duplicates_in as duplicates_in
    from whorl.duplicates.write_cluster_labels import LabelCounts as LabelCounts
    from whorl.duplicates.write_cluster_labels import write_ids as write_ids
    from whorl.engine.configured_fields import FieldNames as FieldNames
    from whorl.errors import CodeRangeError as CodeRangeError
    from whorl.errors import CodeTypeError as CodeTypeError
    from whorl.errors import DocumentError as DocumentError
    from whorl.errors import EngineError as EngineError
    from whorl.errors import EngineResponseError as EngineResponseError
    from whorl.errors import EngineUnavailableError as EngineUnavailableError
    from whorl.errors import FieldError as FieldError
    from whorl.errors import NoSketchesError as NoSketchesError
    from whorl.errors import ParameterError as ParameterError
    from whorl.errors import QueryError as QueryError
    from whorl.errors import QuerySyntaxError as QuerySyntaxError
    from whorl.errors import SchemaError as SchemaError
    from whorl.errors import SchemeMismatchError as SchemeMismatchError
    from whorl.errors import Span as Span
    from whorl.errors import StoppedError as StoppedError
    from whorl.errors import StoreError as StoreError
    from whorl.errors import UnknownDocumentError as UnknownDocumentError
    from whorl.errors import UnknownFieldError as UnknownFieldError
    from whorl.errors import UnsupportedQueryError as UnsupportedQueryError
    from whorl.errors import WhorlError as WhorlError
    from whorl.fingerprint.compare_texts import Comparison as Comparison
    from whorl.fingerprint.compare_texts import Passage as Passage
    from whorl.fingerprint.compare_texts import Passages as Passages
    from whorl.fingerprint.compare_texts import ResidualOverlap as ResidualOverlap
    from whorl.fingerprint.compare_texts import Size as Size
    from whorl.fingerprint.compare_texts import compare as compare
    from whorl.fingerprint.minhash.signature_and_tokens import Signature as Signature
    from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding as TokenEncoding
    from whorl.fingerprint.shingling import Scheme as Scheme
    from whorl.fingerprint.sketch.frac_minhash import Sketch as Sketch
    from whorl.fingerprint.sketch.frac_minhash import SketchScheme as SketchScheme
    from whorl.fingerprint.statistics.metric import Metric as Metric
    from whorl.fingerprint.statistics.metric import Shares as Shares
    from whorl.fingerprint.statistics.overlap_estimates import Estimate as Estimate
    from whorl.hamming.simhash import simhash as simhash
    from whorl.hamming.simhash import simhashes as simhashes
    from whorl.ingest.store_documents import IndexOptions as IndexOptions
    from whorl.model import Document as Document
    from whorl.model import DocumentCount as DocumentCount
    from whorl.model import Hit as Hit
    from whorl.model import Indexed as Indexed
    from whorl.model import Order as Order
    from whorl.model import Page as Page
    from whorl.model import Stored as Stored
    from whorl.operations import CommonOptions as CommonOptions
    from whorl.operations import CompareOperation as CompareOperation
    from whorl.operations import DeleteOperation as DeleteOperation
    from whorl.operations import ExplainOperation as ExplainOperation
    from whorl.operations import SearchOperation as SearchOperation
    from whorl.operations import SimilarOperation as SimilarOperation
    from whorl.operations import SourcesOperation as SourcesOperation
    from whorl.operations import VerifyOperation as VerifyOperation
    from whorl.query.ast import Operator as Operator
    from whorl.query.ast import QueryLimits as QueryLimits
    from whorl.query.parser import parse as parse
    from whorl.query.plan.nodes import Kind as Kind
    from whorl.query.plan.planner import QueryDefaults as QueryDefaults
    from whorl.query.unparse import quote as quote
    from whorl.query.unparse import unparse as unparse
    from whorl.request_context import reporting as reporting
    from whorl.search.attribution.find_sources import SourcesOptions as SourcesOptions
    from whorl.search.attribution.results import Attribution as Attribution
    from whorl.search.attribution.results import Common as Common
    from whorl.search.attribution.results import HashedPassage as HashedPassage
    from whorl.search.attribution.results import Promise as Promise
    from whorl.search.attribution.results import TextSource as TextSource
    from whorl.search.boilerplate import CompareOptions as CompareOptions
    from whorl.search.highlighting import Snippet as Snippet
    from whorl.search.prepared_search import PreparedQuery as PreparedQuery
    from whorl.search.prepared_search import QueryOptions as QueryOptions
    from whorl.search.prepared_search import SearchOptions as SearchOptions
    from whorl.search.prepared_similar import PreparedSimilar as PreparedSimilar
    from whorl.search.quotations.cited_sources import NamedSource as NamedSource
    from whorl.search.quotations.results import Difference as Difference
    from whorl.search.quotations.results import GivenQuotation as GivenQuotation
    from whorl.search.quotations.results import LookUp as LookUp
    from whorl.search.quotations.results import Quotation as Quotation
    from whorl.search.quotations.results import QuotedPlace as QuotedPlace
    from whorl.search.quotations.results import Verdict as Verdict
    from whorl.search.quotations.results import Verification as Verification
    from whorl.search.quotations.results import VerifiedQuotation as VerifiedQuotation
    from whorl.search.quotations.results import VerifyOptions as VerifyOptions
    from whorl.search.repeats_of_new_documents import NewDocumentRepeats as NewDocumentRepeats
    from whorl.search.repeats_of_new_documents import RepeatedDocument as RepeatedDocument
    from whorl.search.repeats_of_new_documents import RepeatSearch as RepeatSearch
    from whorl.search.similar.minhash_plan import MinHashPlan as MinHashPlan
    from whorl.search.similar.options import SimilarOptions as SimilarOptions
    from whorl.search.similar.results import Explanation as Explanation
    from whorl.search.similar.results import Measured as Measured
    from whorl.search.similar.results import Similar as Similar
    from whorl.search.similar.results import SimilarHit as SimilarHit
    from whorl.search.similar.sketch_plan import Branch as Branch
    from whorl.search.similar.sketch_plan import ResidualPlan as ResidualPlan
    from whorl.search.similar.sketch_plan import SketchPlan as SketchPlan
    from whorl.settings.settings import Settings as Settings
    from whorl.store import Store as Store
    from whorl.store import open_store as open_store

    __version__: str

#: Names are imported on first use, so that commands start faster.
_import_name, __all__ = lazily(__name__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("whorl")
    return _import_name(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
