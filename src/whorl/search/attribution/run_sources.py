"""Runs `sources`: checks the user's options, finds the sources, and rates the coverage as low, medium or high."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace

from whorl.engine.protocol import Engine
from whorl.errors import ParameterError
from whorl.fingerprint.statistics.metric import Percent, fraction_of, notes_on
from whorl.operations import CommonOptions, SourcesOperation
from whorl.query.plan.nodes import BoundPlan
from whorl.request_context import deadline
from whorl.search.attribution.excluded_parts import Exclusion, exclusion_named
from whorl.search.attribution.results import Attribution, Level
from whorl.search.boilerplate import boilerplate_detector


class SourcesOptions(CommonOptions, total=False):
    """Keywords of `Store.sources`; `SourcesOperation` describes them."""

    min_words: int
    exclude: str | None
    without: Collection[Exclusion | str]
    recall: Percent
    most_read: int
    medium: Percent
    high: Percent
    timeout: float | None


def sources_of(
    engine: Engine,
    text: str,
    own_id: str | None,
    excluded: BoundPlan | None,
    options: SourcesOperation = SourcesOperation(),  # noqa: B008 - frozen
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        own_id: Id of the text, if it is a document of the store; the document is not a source of itself.
        excluded: Documents to exclude as sources.
        options: Options of the search, except `exclude`, which `excluded` replaces.

    Raises:
        ParameterError: A number is out of its range, or undefined boilerplate should be ignored.
        StoppedError: The search took longer than `timeout`.
    """
    # Import here, because other operations of a store do not need this module.
    from whorl.search.attribution.find_sources import SourceCriteria, find_sources

    criteria = SourceCriteria(
        recall=fraction_of("recall", options.recall),
        min_words=options.min_words,
        most_read=options.most_read,
        ignore_common=options.ignore_common,
        without={exclusion_named(part) for part in options.without},
    )
    medium, high = fraction_of("medium", options.medium), fraction_of("high", options.high)
    if medium > high:
        raise ParameterError(f"medium ({options.medium}) must not be larger than high ({options.high})")
    if options.timeout is not None and not options.timeout > 0:
        raise ParameterError(f"timeout must be more than 0 seconds, got {options.timeout}")
    with nullcontext() if options.timeout is None else deadline(options.timeout):
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
    coverage = attribution.coverage
    level: Level = "high" if coverage >= high else "medium" if coverage >= medium else "low"
    warnings = (*(excluded.warnings if excluded else ()), *notes_on(recall=options.recall), *attribution.warnings)
    return replace(attribution, level=level, warnings=tuple(dict.fromkeys(warnings)))
