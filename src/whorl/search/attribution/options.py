"""Options of a search for the sources of a text, in the user's terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from whorl.engine.protocol import Engine
from whorl.fingerprint.statistics.metric import Percent, fraction_of, notes_on
from whorl.operations import SourcesOperation
from whorl.query.plan.nodes import BoundPlan
from whorl.search.attribution.exclusions import Exclusion, exclusion_named
from whorl.search.attribution.results import Attribution
from whorl.search.boilerplate import CommonOptions, boilerplate_detector


class SourcesOptions(CommonOptions, total=False):
    """Keywords of `Store.sources`; `SourcesOperation` describes them."""

    min_words: int
    exclude: str | None
    without: Collection[Exclusion | str]
    recall: Percent
    most_read: int


def sources_of(
    engine: Engine,
    text: str,
    own_id: str | None,
    excluded: BoundPlan | None,
    options: SourcesOperation = SourcesOperation(),  # noqa: B008 - frozen
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        engine: The engine of the store.
        text: The text.
        own_id: The id of the document that the text comes from; excluded as a source.
        excluded: Documents to exclude as sources.
        options: How to look for sources; their `exclude` is bound already.

    Raises:
        ParameterError: A number is out of its range, or boilerplate is to be left out but not defined.
    """
    # Other operations of a store do not need it.
    from whorl.search.attribution.find_sources import SourceCriteria, find_sources

    criteria = SourceCriteria(
        recall=fraction_of("recall", options.recall),
        min_words=options.min_words,
        most_read=options.most_read,
        ignore_common=options.ignore_common,
        without={exclusion_named(part) for part in options.without},
    )
    attribution = find_sources(
        engine,
        text,
        criteria,
        left_out=None if excluded is None else excluded.root,
        own_id=own_id,
        detector=boilerplate_detector(
            engine, options.common_above, options.boilerplate, ignore_common=options.ignore_common
        ),
    )
    warnings = (*(excluded.warnings if excluded else ()), *notes_on(recall=options.recall), *attribution.warnings)
    return replace(attribution, warnings=tuple(dict.fromkeys(warnings)))
