"""Options of a search for the sources of a text, in the user's terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Unpack

from whorl.engine.protocol import Engine
from whorl.fingerprint.statistics.metric import Percent, fraction_of, notes_on
from whorl.query.plan.nodes import BoundPlan
from whorl.search.attribution.exclusions import Exclusion, exclusion_named
from whorl.search.attribution.results import Attribution
from whorl.search.attribution.search import DEFAULT_READ, MIN_WORDS, find_sources
from whorl.search.boilerplate import CommonOptions, commons
from whorl.search.similar.options import DEFAULT_RECALL


class SourcesOptions(CommonOptions, total=False):
    """Options of a search for the sources of a text.

    Args:
        recall: Percentage to find of the documents with a passage of as many words as the answer's `promise` gives;
            above 0, at most 100, by default 95.
        min_words: Words of the shortest passage that counts, at least 1, by default 8. No passage is shorter than a
            shingle.
        most_read: Most documents to read, 1 to 10,000, by default 5,000; together about 50 million characters at most.
        without: Parts of the text to leave out: "quotations", "references".
    """

    recall: Percent
    min_words: int
    most_read: int
    without: Collection[Exclusion | str]


def sources_of(
    engine: Engine,
    text: str,
    own_id: str | None,
    left_out: BoundPlan | None,
    *,
    recall: Percent = DEFAULT_RECALL * 100,
    min_words: int = MIN_WORDS,
    most_read: int = DEFAULT_READ,
    without: Collection[Exclusion | str] = (),
    **common: Unpack[CommonOptions],
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        engine: The engine of the store.
        text: The text.
        own_id: The id of the document that the text comes from; it is no source.
        left_out: Documents to exclude as sources.
        recall: See `SourcesOptions`.
        min_words: See `SourcesOptions`.
        most_read: See `SourcesOptions`.
        without: See `SourcesOptions`.
        common: Options for boilerplate.

    Raises:
        ParameterError: A number is out of its range, or boilerplate is to be left out but not defined.
    """
    found = find_sources(
        engine,
        text,
        fraction_of("recall", recall),
        min_words=min_words,
        most_read=most_read,
        left_out=None if left_out is None else left_out.root,
        own_id=own_id,
        commons=commons(engine, **common),
        ignore_common=common.get("ignore_common", False),
        without={exclusion_named(each) for each in without},
    )
    warnings = (*(left_out.warnings if left_out else ()), *notes_on(recall=recall), *found.warnings)
    return replace(found, warnings=tuple(dict.fromkeys(warnings)))
