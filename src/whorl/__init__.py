"""Find the documents that share content with a document. docs/python.md shows how to use the API.

A store:

open_store          opens a Solr collection by URL, or a folder on disk, as a Store
Store               index, search, similar, sources, verify, compare, explain, delete, signature
Settings            settings from variables and whorl.toml
FieldNames          the names of the fields of a collection or index
QueryDefaults       defaults for reading queries, with an Operator and QueryLimits
PreparedQuery       a query parsed once, to search, measure and explain; PreparedSimilar for a similar search
Explanation         the plan and the request of a query
IndexOptions, QueryOptions, SearchOptions, SimilarOptions, SourcesOptions, VerifyOptions, CompareOptions,
CommonOptions       the keywords of these methods; CommonOptions defines common text
SimilarOperation, SourcesOperation, SearchOperation, ExplainOperation, CompareOperation, VerifyOperation,
DeleteOperation     the options of an operation as one object
reporting           calls a function with the progress of the work inside

Inputs and results:

Document            a text with an id, a name and properties; Stored is a stored document without its text
Indexed             the numbers of documents in an indexing run
Page, Hit           the results of a search; Order is a sort key
DocumentCount       the number of documents that match a query
Kind                the type of a field's values
Similar, SimilarHit the documents that share content with a document
SketchPlan, MinHashPlan, ResidualPlan, Branch
                    the plan of a similar search
Attribution         the documents that a text comes from
TextSource          one of these documents, with its Passages; HashedPassage is a passage in a store without texts,
                    WordPlace its place in the document
Promise             the recall of the search for these documents
Verification        the quotations of a text, each as a VerifiedQuotation
VerifiedQuotation   a Quotation of a text (or a GivenQuotation, given alone), and the result of checking it
Verdict             the result: exact, edited, stitched, misattributed, absent
NamedSource         a source that the text names for a quotation
QuotedPlace         a place in a document that contains a quotation or a part of it, with each Difference
LookUp              the words of a quotation that were searched for in the store
Snippet             a part of a hit's text that contains the words of the query
Measured            a hit's overlap with the source of a query
Comparison          two texts compared exactly: their shared Passages, and the Size of each text
Passage             one of the Passages
Common              the common text in a text
ResidualOverlap     the overlap of two texts without their common text
Metric              the measure of similarity that a threshold applies to
Shares              the three shares of two documents; Estimate has intervals, too
Signature           a document's MinHash fingerprint, made under a Scheme
TokenEncoding       the form of tokens in an index
Sketch              a sample of a document's shingles for calibrated search, made under a SketchScheme

Duplicates:

deduplicate         finds near-duplicates among texts in memory; DeduplicationOptions has its keywords
Deduplication       the result of deduplicate, with a DeduplicationSummary
duplicates_in       finds the Duplicates in a store
duplicates_among    finds the Duplicates among documents without a store
find_in_documents   finds the documents that contain texts of a reference, as ReferenceMatches
ReferenceItem       an item of the reference, and the documents that contain its texts
DuplicatesOptions   the options of a search: its PairOptions, BoilerplateOptions, Granularity and more
parse_pair_options, parse_boilerplate_options
                    check a user's values, and return PairOptions or BoilerplateOptions
Pair, Cluster, Member
                    the results; PairColumns and ClusterColumns hold many results as arrays
Version             a member of a cluster that is sorted by version; UnsharedText has the words that changed
with_words          fills in the words of versions
Keep                the retention policy
documents_to_remove the members of clusters that the retention policy does not keep
write_ids           writes cluster labels into a store, and returns LabelCounts
RepeatSearch        finds the stored documents that new documents repeat
NewDocumentRepeats  a new document, and each RepeatedDocument

Without a store:

compare             compares two texts exactly
parse, unparse      convert a query to its syntax tree, and back
quote               quotes user input for a query
simhash             a text as one 64-bit code; codes of near-duplicates differ in few bits
simhashes           the codes of many texts

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
    from whorl.search.attribution.results import WordPlace as WordPlace
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
