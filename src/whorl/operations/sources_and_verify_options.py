"""Options of `sources`, which finds the sources of a text, and of `verify`, which checks its quotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from whorl.operations.option_declaration import (
    ALL_RETURNED,
    QUERY_SCHEMA,
    Bounds,
    Rows,
    Share,
    Start,
    flag,
    only,
    option,
)
from whorl.operations.search_similar_compare_options import IgnorableBoilerplate


@dataclass(frozen=True, kw_only=True)
class ExcludedDocuments:
    exclude: str | None = option(
        "Leave out the documents that this query matches.", "QUERY", schema=QUERY_SCHEMA, examples=("type:form",)
    )


@dataclass(frozen=True, kw_only=True)
class SourcesOperation(IgnorableBoilerplate, ExcludedDocuments):
    """Find the documents that a text comes from: a small set that covers as much of it as possible."""

    min_words: Annotated[int, Bounds(ge=1, le=1_000_000)] = option(
        "Words in the shortest passage that counts; at least as many as in a shingle.", default=8
    )
    without: Annotated[tuple[Literal["quotations", "references"], ...], Bounds(max_length=10)] = option(
        "Parts of the text to leave out.", default=(), cli_help="Leave out these parts of the text; can be given twice."
    )
    recall: Share = option("How many of 100 sources to find, in percent; up to 1 as a fraction.", "PERCENT", default=95)
    most_read: Annotated[int, Bounds(ge=1, le=10_000)] = option(
        "The most documents to compare the text with.", default=5_000
    )
    medium: Share = option("Share of the text in sources from which its level is medium.", "PERCENT", default=10)
    high: Share = option("Share of the text in sources from which its level is high.", "PERCENT", default=50)
    fail_on: Literal["medium", "high"] | None = option(
        "End with status 1 if the text has this level or a higher one.", absent=only("cli", because="returns the level")
    )
    timeout: Annotated[float | None, Bounds(gt=0, le=86_400)] = option(
        "Give up after this many seconds, with an error.", "SECONDS"
    )
    rows: Rows = option("Sources to show.", default=10, absent=ALL_RETURNED)
    start: Start = option("Sources to skip.", default=0, absent=ALL_RETURNED)


@dataclass(frozen=True, kw_only=True)
class VerifyOperation(ExcludedDocuments):
    """Check whether the quotations in a text are in the store, word for word, and where."""

    all: bool = flag("Check every sentence of the text, not only what it quotes.")
    min_words: Annotated[int, Bounds(ge=1, le=1_000)] = option(
        "Leave out quotations in the text that have fewer words; quotations that are given are all checked.", default=4
    )
    fail_on: str | None = option(
        "End with status 1 if a quotation has one of these verdicts, separated by commas; a text without quotations "
        "ends with 0.",
        "VERDICTS",
        absent=only("cli", because="returns the verdicts"),
    )
    rows: Rows = option("Quotations to show.", default=100, absent=ALL_RETURNED)
    start: Start = option("Quotations to skip.", default=0, absent=ALL_RETURNED)
