"""Options of `index`, `delete` and `simhash`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from whorl.fingerprint.statistics.metric import SIMILAR_METRICS, Percent, SimilarMetric, describe_metrics
from whorl.operations.option_declaration import QUERY_SCHEMA, Bounds, flag, only, option
from whorl.operations.search_similar_compare_options import RESULT_FILES, Columns

_METRICS = describe_metrics(SIMILAR_METRICS, "the new document", "the other")

_SET_UP = only("cli", "python", because="the store is set up before it is served")


@dataclass(frozen=True, kw_only=True)
class IndexOperation(Columns):
    """Put documents into a store."""

    batch: Annotated[int, Bounds(ge=1, le=10_000)] = option(
        "Documents per batch.", default=256, absent=only("cli", "python", because="the service chooses batches by size")
    )
    again: bool = flag(
        "Also index unchanged documents, for instance after a change of the schema.",
        names={"cli": "all"},
        absent=only("cli", "python", because="a change of the schema is for an administrator"),
    )
    passages: Annotated[int | None, Bounds(ge=8, le=20)] = option(
        "From now on, let the store find every passage of N words (see 'whorl sources'): 8 to 20, by default 20. "
        "Shorter passages take more space. A store keeps its N.",
        "[N]",
        absent=_SET_UP,
    )
    without_minhash: bool = flag(
        "From now on, keep no MINHASH tokens in the store (a folder): a fifth less space, but no FINGERPRINT.",
        absent=_SET_UP,
    )
    short_minhash: bool = flag(
        "Keep only the upper bits of MINHASH tokens in the store (a folder), permanently: less space, a quarter for "
        "paragraphs. FINGERPRINT has the same hits, but also reads their texts, so it takes longer.",
        absent=_SET_UP,
    )
    no_text: bool = flag(
        "Keep no texts in a new store (a folder), only hashes of their passages: 'whorl sources' works, but nothing "
        "that reads or compares texts.",
        absent=_SET_UP,
    )
    strict: bool = flag(
        "Fail if anything could not be stored, or if an id came more than once.",
        absent=only("cli", because="every answer lists what could not be stored"),
    )
    replace: bool = option(
        "Replace stored documents by those of the same id; if false, refuse a document whose id has another text.",
        default=True,
        absent=only(
            "http", "python", because="callers name the files and documents, and repeat the call to update them"
        ),
    )
    check: Annotated[Percent | None, Bounds(gt=0, le=100)] = option(
        "Store nothing, and list the documents that repeat stored ones by at least this share.",
        "PERCENT",
        absent={
            "cli": "'whorl similar --file FILE' compares without storing",
            "mcp": "the tool `similar` compares without storing",
            "python": "RepeatSearch is a class of its own",
        },
    )
    warn: Annotated[Percent | None, Bounds(gt=0, le=100)] = option(
        "List the stored documents that repeat earlier ones by at least this share, in percent; up to 1 as a fraction.",
        "PERCENT",
        absent={"mcp": "the tool `similar` tells it of a text", "python": "RepeatSearch is a class of its own"},
    )
    metric: SimilarMetric = option(
        f"What this share is of: {_METRICS}.",
        default="jaccard",
        cli_help=f"What --warn is a share of: {_METRICS}.",
        absent={"mcp": "nothing is compared", "python": "RepeatSearch is a class of its own"},
    )


@dataclass(frozen=True, kw_only=True)
class DeleteOperation:
    """Delete documents from a store."""

    query: str | None = option(
        "Delete the documents that this query matches.", "QUERY", schema=QUERY_SCHEMA, examples=("name:minutes",)
    )
    everything: bool = flag("Allow deleting all documents, if the query matches all.")
    dry_run: bool = flag("Only say how many documents would be deleted.", absent={"python": "Store.count counts them"})


@dataclass(frozen=True, kw_only=True)
class SimhashOperation(Columns):
    """Print the SimHash code of each document."""

    scheme: str | None = option(
        "How codes are made: simhash1-icu70, simhash1-icu74 (the default) or simhash1-icu77; or as others do: "
        "simhash-py-0.4, simhash-py-0.1, simhash-cpp-0.1, simhash-1e0ng-2.",
        "NAME",
        absent=only("cli", "python", because="a store has no codes"),
    )
    format: Literal["codes", "tsv", "json"] = option(
        "One code per line; a code, a tab and the document's id; a JSON object.", default="codes", absent=RESULT_FILES
    )
