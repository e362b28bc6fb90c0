"""What one may ask about the sources of a text, as a user says it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Unpack

from whorl.boilerplate import CommonOptions, commons
from whorl.engine.protocol import Engine
from whorl.fingerprint.statistics.metric import Percent, fraction_of
from whorl.planning.build import BoundPlan
from whorl.similar.question import DEFAULT_RECALL
from whorl.sources.exclusions import Exclusion, exclusion_named
from whorl.sources.result import Attribution
from whorl.sources.search import DEFAULT_READ, MIN_WORDS, find_sources


class SourcesOptions(CommonOptions, total=False):
    """How the sources of a text are looked for.

    Args:
        recall: Of a hundred documents with a passage of the words that the answer's `promise` names, how many are to be
            found; above 0, at most 100. 95 where it is not given.
        min_words: Words of the shortest passage that counts, at least 1, 8 where it is not given. None is shorter than
            a shingle.
        most_read: Documents whose texts are compared at most, 1 to 10,000, 300 where it is not given; together they
            have some 20 million characters at most.
        without: Parts of the text that they need not account for: "quotations", "references".
        progress: Called now and then with what is done, how much of it, and of how much.
    """

    recall: Percent
    min_words: int
    most_read: int
    without: Collection[Exclusion | str]
    progress: Callable[[str, int, int], None] | None


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
    progress: Callable[[str, int, int], None] | None = None,
    **common: Unpack[CommonOptions],
) -> Attribution:
    """Return the documents that account for a text.

    Args:
        engine: Where they are.
        text: The text.
        own_id: The id of the document whose text it is; it is no source.
        left_out: Documents that are no sources either.
        recall: As in `SourcesOptions`; and so on.
        min_words: Likewise.
        most_read: Likewise.
        without: Likewise.
        progress: Likewise.
        common: What text is common.

    Raises:
        ParameterError: A number is out of its range, or nothing says what is common and to be left out.
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
        progress=progress,
    )
    warnings = (*(left_out.warnings if left_out else ()), *found.warnings)
    return replace(found, warnings=tuple(dict.fromkeys(warnings)))
