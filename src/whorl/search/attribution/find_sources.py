"""Finds the sources of a text: looks up candidates, compares them, and chooses a few that cover the text.

Passage hashes give the words that each candidate certainly shares (known) and may share (possible). A greedy cover of
the known words chooses documents to read.

A word is uncovered if no document that was read shares it. More candidates are read as long as they may share an
uncovered word. Then the uncovered words are looked up by sketches, window by window, unless the index of words shows
that no document has a passage there.

Only likely sources are compared word by word.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from heapq import nsmallest
from itertools import chain

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches, count_covers, mask_ranges, ranges_of
from whorl.engine.protocol import Engine, MatchCount
from whorl.errors import ParameterError
from whorl.fingerprint.compare_texts import Passage, TextWords, words_of
from whorl.fingerprint.compiled.kernel import count_search
from whorl.fingerprint.statistics.metric import Percent, fraction_of, notes_on
from whorl.fingerprint.winnowing import PROOF_BITS, PassageScheme
from whorl.operations import CommonOptions, SourcesOperation, require_bounds
from whorl.query.plan.nodes import BoundNode, BoundPlan, MatchAll, Words
from whorl.request_context import deadline, timely
from whorl.search.attribution.candidate_reader import Candidate, CandidateReader
from whorl.search.attribution.candidates import Candidates, PassageCandidates, find_candidates, find_passage_candidates
from whorl.search.attribution.cover import (
    NO_RANGES,
    Numbers,
    array_of_each_range,
    concatenate_ranges,
    count_words_in,
    cumulate_counted,
    greedy_cover,
    word_indices,
)
from whorl.search.attribution.excluded_parts import Exclusion, exclusion_named, mask_excluded_words
from whorl.search.attribution.hashed_passages import HashedPassages
from whorl.search.attribution.results import Attribution, Common, HashedPassage, Level, Promise, TextSource
from whorl.search.boilerplate import BoilerplateDetector, Comparer, boilerplate_detector

#: Maximum number of listed documents that share passages, but add nothing to the sources.
MOST_ALSO = 300
#: Maximum number of words broken at line ends to look up, for one text and in one request.
MOST_LOOKED_UP, _AT_ONCE = 1_000, 50
#: Number of documents to read before counting again how many words each other document would add.
READ_AT_ONCE = 4
#: Compiled loops are loaded after a number of similarity searches. One search for sources counts as `LOOPS_GAIN`
#: similarity searches, because the loops save as much time in it.
LOOPS_GAIN = 10
#: Maximum number of phrases to look up in the index of words; for more phrases, searching windows of the text is
#: faster.
MOST_PHRASES = 100
#: Number of candidates to read before phrases are looked up.
READ_FIRST = 3
#: Up to this number of candidates, reading all their sketches is faster than reading one text.
FEW_SKETCHES = 20
#: Number of sketches that can be read in the time of one phrase look-up.
SKETCHES_PER_PHRASE = 20

#: Invisible characters that cut words, such as a zero-width space. Each is replaced by a character that the tokenizer
#: ignores (`_NOT_CUTTING`), so that positions in the text stay the same.
_CUTTERS = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u115f\u1160\u180e\u200b\u2065\u3164\uffa0\ufff0-\ufffb"
    "\U000e0000\U000e0002-\U000e001f\U000e0080-\U000e00ff\U000e01f0-\U000e0fff]"
)
_NOT_CUTTING = "\u2060"
_NOT_BLANK = re.compile(r"\S+")


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


def find_sources(
    engine: Engine,
    text: str,
    options: SourcesOperation = SourcesOperation(),  # noqa: B008 - frozen
    *,
    own_id: str | None = None,
    excluded: BoundPlan | None = None,
) -> Attribution:
    """Return the sources of a text: few documents that together contain most of its words.

    Args:
        options: Options of the search, except `exclude`, which `excluded` replaces.
        own_id: Id of the text, if it is a document of the store; the document is not a source of itself.
        excluded: Documents to exclude as sources.

    Raises:
        ParameterError: A number is out of its range, or `ignore_common` is set without a definition of boilerplate.
        StoppedError: The search took longer than `timeout`.
    """
    medium, high = fraction_of("medium", options.medium), fraction_of("high", options.high)
    require_bounds(options)
    if medium > high:
        raise ParameterError(f"medium ({options.medium}) must not be larger than high ({options.high})")
    if options.timeout is not None and not options.timeout > 0:
        raise ParameterError(f"timeout must be more than 0 seconds, got {options.timeout}")
    with nullcontext() if options.timeout is None else deadline(options.timeout):
        left_out = None if excluded is None else excluded.root
        attribution = _cover_text(engine, text, options, own_id, left_out)
        if _CUTTERS.search(text):
            # Invisible characters may hide copied text, so also search without them. Documents may have the same
            # characters, so keep the better result.
            whole = _cover_text(engine, _CUTTERS.sub(_NOT_CUTTING, text), options, own_id, left_out)
            if whole.coverage > attribution.coverage:
                attribution = replace(whole, content=text, warnings=(_cut_words_warning(text), *whole.warnings))
    coverage = attribution.coverage
    level: Level = "high" if coverage >= high else "medium" if coverage >= medium else "low"
    warnings = (*(excluded.warnings if excluded else ()), *notes_on(recall=options.recall), *attribution.warnings)
    return replace(attribution, level=level, warnings=tuple(dict.fromkeys(warnings)))


def _cut_words_warning(text: str) -> str:
    count = sum(_CUTTERS.search(word[0], 1, len(word[0]) - 1) is not None for word in timely(_NOT_BLANK.finditer(text)))
    words = "1 word of the text is" if count == 1 else f"{count:,} words of the text are"
    return f"{words} cut by invisible characters, which are ignored"


def _cover_text(
    engine: Engine, text: str, options: SourcesOperation, own_id: str | None, left_out: BoundNode | None
) -> Attribution:
    """Return the sources of a text; the caller sets their `level`. `left_out` matches the documents to exclude."""
    recall, ignore_common = fraction_of("recall", options.recall), options.ignore_common
    detector = boilerplate_detector(engine, options.common_above, options.boilerplate, ignore_common=ignore_common)
    count_search(engine.scheme, LOOPS_GAIN)
    warnings, given = list[str](), options.min_words
    min_words = max(given, engine.scheme.shingle_size)
    if min_words > given:
        warnings.append(f"min_words {given} counts as {min_words}: passages have at least the words of a shingle")
    of_text = rejoin_words(engine, words_of(text, engine.scheme))
    comparer = Comparer(of_text, engine.scheme, detector)
    is_counted = ~comparer.is_common if ignore_common else np.full(len(of_text.words), True)
    is_excluded = mask_excluded_words(text, of_text, {exclusion_named(part) for part in options.without}) & is_counted
    is_counted &= ~is_excluded
    reader = CandidateReader(engine, comparer, min_words, is_counted, options.most_read, ignore_common=ignore_common)
    chooser = _SourceChooser(reader)
    unknown, certain_words, crowded = ranges_of(np.full(len(of_text.words), True)), None, 0
    scheme = engine.passage_scheme
    if not engine.keeps_texts and (scheme is None or scheme.bits < PROOF_BITS):
        # The hashes are too short to prove a match, so raise the engine's error for a store without texts.
        engine.texts(())
    if scheme is not None:
        certain = chooser.add_passages(scheme, own_id, left_out)
        warnings += certain.warnings
        certain_words, crowded = scheme.run_words, certain.crowded_hashes
        if not engine.keeps_texts:
            warnings.append(_hashes_only_warning(scheme))
        chooser.read_until_complete()
        # Search windows only for passages that hashes can miss: short passages, and passages with crowded hashes.
        is_searched = chooser.mask_uncovered() & engine.keeps_texts
        if min_words >= certain_words:
            is_searched &= mask_ranges(certain.crowded_ranges, is_searched.size)
        unknown = ranges_of(is_searched)
        unknown = unknown[unknown[:, 1] - unknown[:, 0] >= min_words]
    matching = None if certain_words is None else chooser.find_documents_in_gaps(unknown, own_id)
    hits = Candidates((), Promise(recall, None), ())
    if matching is None or matching:
        hits = find_candidates(engine, text, of_text, unknown, recall, min_words=min_words, left_out=left_out)
    if found := [own for own in hits.ids if own != own_id and (matching is None or own in matching)]:
        chooser.add(found, unknown)
        if certain_words is None:
            # Without passage hashes, the shared words are unknown until the texts are read, so read all candidates.
            for _ in reader.read_and_cover(chooser.candidates):
                pass
        chooser.read_until_complete()
    chosen = chooser.compare_sources()
    also, also_count = chooser.list_others(chosen)
    named = [*(candidate.id for candidate, _ in chosen), *also]
    names = engine.names(named) if named else {}
    sources = chooser.make_sources(chosen, names)
    covers = [candidate.cover for candidate, _ in chosen]
    return Attribution(
        content=text,
        words=len(of_text.words),
        min_words=min_words,
        sources=sources,
        also=tuple((name, names.get(name, "")) for name in also),
        also_count=also_count,
        longest_passage=max((source.passages[0].words for source in sources), default=0),
        candidates=chooser.count(chooser.candidates),
        read=reader.read,
        without_text=reader.without_text,
        unread=chooser.count(chooser.select_promising(chooser.mask_uncovered(), chooser.candidates)),
        # Windows inside known passages are not searched. In these passages, the search promises to find only passages
        # of at least `certain_words` words. So the promise for the whole text is the larger of both lengths.
        promise=Promise(recall, max(hits.promise.words or 0, certain_words or 0) or None, certain_words, crowded),
        warnings=tuple(dict.fromkeys((*warnings, *hits.warnings))),
        common=None if detector is None else _make_common(detector, comparer.is_common, covers, ignore_common),
        excluded_words=int(np.count_nonzero(is_excluded)),
    )


class _SourceChooser:
    """Chooses sources by the words that candidates are known to share, and reads candidates to learn these words."""

    def __init__(self, reader: CandidateReader) -> None:
        self._engine, self._reader, self._is_counted = reader.engine, reader, reader.is_counted
        self._text_words = reader.of_text.words
        #: Candidates in order of preference: if two cover the same words, the earlier candidate is chosen.
        self.candidates: list[Candidate] = []
        #: Number of words that a passage hash covers if each hash alone proves a passage; otherwise 0.
        self._proven_words = 0
        #: Mask of the words that were looked up in the index of words. An unread candidate can share a passage with
        #: them only if its `may_share` is true.
        self._is_looked_up = np.zeros_like(self._is_counted)
        self._hashed = HashedPassages(reader.of_text.spans, 1, np.empty(0, np.uint64))

    def add_passages(self, scheme: PassageScheme, own_id: str | None, left_out: BoundNode | None) -> PassageCandidates:
        """Add groups of documents with the same passage hashes of the text, except the text's own document.

        Unless each hash alone proves a passage, remove the ranges that are too short for a passage from each `cover`.
        """
        of_text, run = self._reader.of_text, self._reader.run
        found = find_passage_candidates(self._engine, scheme, of_text, run, left_out=left_out)
        if not self._engine.keeps_texts:
            self._hashed = HashedPassages(of_text.spans, scheme.hashed_words, found.hashes)
        # A hash alone proves a passage if it covers as many words as the shortest passage has, and all words of the
        # text count.
        if run <= scheme.hashed_words and self._is_counted.all():
            self._proven_words = scheme.hashed_words
        for group in found.groups:
            group.ids = [document_id for document_id in group.ids if document_id != own_id]
            if not group.ids:
                continue
            if not self._proven_words:
                group.cover = self._reader.select_passages(group.cover)
            self.candidates.append(group)
            if not self._engine.keeps_texts:
                # Split off the other documents of the group, because only the first can become a source.
                for candidate in (group, *self._split_candidate(group, [group.ids[1:]])):
                    candidate.possible, candidate.is_read = NO_RANGES, True
        return found

    def add(self, ids: Iterable[str], possible: Numbers) -> None:
        """Add further documents that may contain the words in `possible`, the most promising first."""
        known = set(chain.from_iterable(candidate.ids for candidate in self.candidates))
        # These documents share no passage hash, so the look-up of phrases could miss them; set `may_share` here.
        self.candidates += [Candidate([own], NO_RANGES, possible, may_share=True) for own in ids if own not in known]

    def find_documents_in_gaps(self, gaps: Numbers, own_id: str | None) -> set[str] | None:
        """Look up gaps (ranges of uncovered words) in the index of words; return the ids of new documents found.

        Return None if the engine cannot look up phrases, or the gaps have too many phrases.
        """
        if not gaps.size:
            return set()
        run = self._reader.run
        # Each run of `run` words in a gap contains one of these phrases.
        length, step = run // 2 + 1, run - run // 2
        starts = [at for start, end in gaps.tolist() for at in range(start, end - length + 1, step)]
        phrases = self._phrases_at(starts, length)
        if len(phrases) > MOST_PHRASES or (known := self._engine.find_known_phrases(phrases)) is None:
            return None
        known = set(known)
        # A document with a passage has one of the phrases. Most phrases are in no document, so look up only the runs
        # that contain a known phrase.
        reached = {
            first
            for start in starts
            if tuple(self._text_words[start : start + length]) in known
            for first in range(start + length - run, start + 1)
        }
        is_in = mask_ranges(gaps, self._is_counted.size)
        looked_up = reached & {*find_runs(is_in, is_in, run)}
        matching = self._engine.find_documents_with_phrases(self._phrases_at(looked_up, run))
        return set(matching or ()) - {*chain.from_iterable(candidate.ids for candidate in self.candidates), own_id}

    def _phrases_at(self, starts: Iterable[int], length: int) -> set[tuple[str, ...]]:
        words = self._text_words
        return {tuple(words[start : start + length]) for start in starts if 0 <= start <= len(words) - length}

    @staticmethod
    def count(candidates: Iterable[Candidate]) -> int:
        return sum(len(candidate.ids) for candidate in candidates)

    def choose_sources(self) -> list[tuple[Candidate, int]]:
        """Choose sources among the read documents (greedy cover); return each with the number of words that it adds."""
        read = [candidate for candidate in self.candidates if candidate.is_read]
        cover = greedy_cover([candidate.cover for candidate in read], self._is_counted)
        return [(read[place], new_words) for place, new_words in cover]

    def make_sources(self, chosen: Sequence[tuple[Candidate, int]], names: Mapping[str, str]) -> tuple[TextSource, ...]:
        """Return the chosen sources, with counts of the words that no other document is known to have."""
        # A candidate with several documents counts twice, because more than one document has its words.
        doubled = (candidate.cover for candidate in self.candidates for _ in candidate.ids[:2])
        is_once = (count_covers(concatenate_ranges(doubled), len(self._text_words)) == 1) & self._is_counted
        once_before, before = cumulate_counted(is_once), cumulate_counted(self._is_counted)
        passages = self._find_passages([candidate for candidate, _ in chosen])
        return tuple(
            _make_source(candidate, names.get(candidate.id, ""), new_words, passages[candidate.id], once_before, before)
            for candidate, new_words in chosen
        )

    def _find_passages(self, chosen: Sequence[Candidate]) -> dict[str, Sequence[Passage | HashedPassage]]:
        """Return the passages of each candidate, keyed by id; for a candidate without a text, those of its hashes."""
        passages: dict[str, Sequence[Passage | HashedPassage]]
        passages = {own.id: own.passages for own in chosen if own.comparison}
        if len(passages) == len(chosen):
            return passages
        stored = self._engine.passage_places({own.id for own in chosen if not own.comparison})
        return passages | {
            own.id: self._hashed.find(own.cover, stored.get(own.id)) for own in chosen if not own.comparison
        }

    def list_others(self, chosen: Sequence[tuple[Candidate, int]]) -> tuple[list[str], int]:
        """Return ids of other documents that share passages (at most `MOST_ALSO`, most words first), and the total."""
        chosen_ids = {candidate.id for candidate, _ in chosen}
        words = self._count_words([candidate.cover for candidate in self.candidates], self._is_counted).tolist()
        others = [
            (-own, document_id)
            for own, candidate in zip(words, self.candidates, strict=True)
            if own and candidate.id not in chosen_ids
            for document_id in candidate.ids
        ]
        return [document_id for _, document_id in nsmallest(MOST_ALSO, others)], len(others)

    def mask_uncovered(self) -> npt.NDArray[np.bool_]:
        """Return a mask of the counted words that no read document shares."""
        covers = [candidate.cover for candidate in self.candidates if candidate.is_read]
        return self._is_counted & ~mask_ranges(concatenate_ranges(covers), self._is_counted.size)

    def read_until_complete(self) -> None:
        """Read candidates until no unread candidate can add a word, or a limit is reached."""
        while self._read_known() or self._read_possible():
            pass

    def _read_known(self) -> bool:
        """Read candidates that are known to share uncovered words; return whether any was read.

        A candidate is postponed if the documents read just before it contain more than half of its new words.
        """
        is_open, is_any = self.mask_uncovered(), False
        unread = [candidate for candidate in self.candidates if not candidate.is_read]
        for batch in batches(greedy_cover([candidate.cover for candidate in unread], is_open), READ_AT_ONCE):
            wanted = [
                unread[place]
                for place, new_words in batch
                if 2 * np.count_nonzero(is_open[word_indices(unread[place].cover)]) >= new_words
            ]
            for candidate in wanted if self._reader.left else ():
                self._split_candidate(candidate, [candidate.ids[1:]])
            for candidate in self._reader.read_and_cover(wanted, are_likely=True):
                is_any = True
                is_open[word_indices(candidate.cover)] = False
        return is_any

    def compare_sources(self) -> list[tuple[Candidate, int]]:
        """Choose sources, compare them with the text word by word, and repeat until the shared words are stable."""
        while self._engine.keeps_texts and self._reader.compare(
            [candidate for candidate, _ in self.choose_sources() if candidate.comparison is None]
        ):
            self.read_until_complete()
        return self.choose_sources()

    def select_promising(self, is_open: npt.NDArray[np.bool_], among: Sequence[Candidate]) -> list[Candidate]:
        """Return the unread candidates of `among` that may share a word that `is_open` marks."""
        if not among or not is_open.any():
            return []
        possible = [candidate.possible for candidate in among]
        open_words = self._count_words(possible, is_open)
        if self._is_looked_up.any():
            may_share = np.array([candidate.may_share for candidate in among])
            open_words = np.where(may_share, open_words, self._count_words(possible, is_open & ~self._is_looked_up))
        return [among[place] for place in np.flatnonzero(open_words).tolist()]

    def _look_up_uncovered(self, promising: list[Candidate], is_open: npt.NDArray[np.bool_]) -> list[Candidate]:
        """Look up the uncovered words (`is_open`) in the index of words, if the store has one, and set `may_share`.

        If only some documents of a candidate may share the words, they move to a new candidate. Return the given and
        the new candidates.
        """
        # Candidates without passage hashes were found by the index of words or by a search in windows, so do not look
        # them up again.
        unknown = [own for own in promising if (own.cover.size or not own.may_share) and not own.has_broken_words]
        is_asked = is_open & mask_ranges(concatenate_ranges(own.possible for own in unknown), is_open.size)
        # If no limit on reading was reached, all candidates that share a passage hash inside a gap have been read. Then
        # only the phrases at the borders of gaps are needed.
        proven = self._proven_words if self._reader.left else 0
        starts, length = phrases_at(ranges_of(is_asked), self._reader.run, proven)
        if self.count(unknown) <= len(starts):
            # Look up no phrases, because reading the sketches of so few candidates is faster.
            return promising
        matching = self._engine.find_documents_with_phrases(self._phrases_at(starts, length))
        if matching is None:
            return promising
        self._is_looked_up |= is_asked
        others = list[Candidate]()
        for candidate in unknown:
            held = [own for own in candidate.ids if own in matching]
            candidate.may_share = len(held) == len(candidate.ids)
            if held and not candidate.may_share:
                others += self._split_candidate(candidate, [held])
                others[-1].may_share = True
        return promising + others

    def _read_possible(self) -> bool:
        """Read candidates that may share uncovered words; return whether any was read."""
        is_open, read_before = self.mask_uncovered(), self._reader.read
        # Near-copies often share the same words, so reading a few candidates may make the look-ups of phrases and
        # sketches unnecessary. If `_proven_words` is set, `_read_known` has already read them.
        for _ in range(0 if self._proven_words else READ_FIRST):
            promising = self.select_promising(is_open, self.candidates)
            if self.count(promising) <= FEW_SKETCHES or not self._read_best(promising, is_open):
                break
        if promising := self.select_promising(is_open, self.candidates):
            promising = self.select_promising(is_open, self._look_up_uncovered(promising, is_open))
            while self.count(promising) > FEW_SKETCHES and self._read_best(promising, is_open):
                promising = self.select_promising(is_open, self._look_up_uncovered(promising, is_open))
            for candidate in [*promising]:
                promising += self._split_candidate(candidate, [[own] for own in candidate.ids[1:]])
            promising = self._select_with_runs(promising, is_open, len(promising) // SKETCHES_PER_PHRASE)
            self._reader.narrow(promising, is_open)
        while (promising := self.select_promising(is_open, promising)) and self._reader.left:
            if len(promising) > FEW_SKETCHES:
                # Sketches of long documents rule out few candidates, so look up phrases first.
                promising = self._select_with_runs(promising, is_open)
            cover = greedy_cover([candidate.possible for candidate in promising], is_open)
            for candidate in self._reader.read_and_cover([promising[place] for place, _ in cover]):
                is_open[word_indices(candidate.cover)] = False
        return self._reader.read > read_before

    def _read_best(self, promising: list[Candidate], is_open: npt.NDArray[np.bool_]) -> bool:
        """Read the first document of the candidate that may share most uncovered words; return whether it shares any.

        Clear the document's words in `is_open`. Move the other documents of the candidate to a new candidate in
        `promising`.
        """
        if not self._reader.left:
            return False
        best, _ = next(greedy_cover([candidate.possible for candidate in promising], is_open))
        promising += self._split_candidate(promising[best], [promising[best].ids[1:]])
        before = int(np.count_nonzero(is_open))
        for candidate in self._reader.read_and_cover([promising[best]]):
            is_open[word_indices(candidate.cover)] = False
        return int(np.count_nonzero(is_open)) < before

    def _select_with_runs(
        self, promising: Sequence[Candidate], is_open: npt.NDArray[np.bool_], most_phrases: int | None = None
    ) -> list[Candidate]:
        """Return the candidates that share a passage with an uncovered word, according to the index of words.

        Clear `possible` of the other candidates. If this needs a look-up of more than `most_phrases` phrases, return
        all candidates.
        """
        is_possible = mask_ranges(concatenate_ranges([candidate.possible for candidate in promising]), is_open.size)
        starts = find_runs(is_open, is_possible, self._reader.run)
        if most_phrases is not None and len(starts) > most_phrases:
            return [*promising]
        matching = self._engine.find_documents_with_phrases(self._phrases_at(starts, self._reader.run))
        if matching is None:
            return [*promising]
        for candidate in promising:
            if candidate.id not in matching and not candidate.has_broken_words:
                candidate.possible = NO_RANGES
        return [candidate for candidate in promising if candidate.possible.size]

    def _split_candidate(self, candidate: Candidate, groups: Iterable[list[str]]) -> list[Candidate]:
        others = candidate.split(groups)
        self.candidates += others
        return others

    def _count_words(self, ranges: Sequence[Numbers], is_marked: npt.NDArray[np.bool_]) -> Numbers:
        words = count_words_in(concatenate_ranges(ranges), cumulate_counted(is_marked))
        return np.bincount(array_of_each_range(ranges), words, len(ranges)).astype(np.int64)


def phrases_at(gaps: Numbers, run: int, proven: int) -> tuple[set[int], int]:
    """Return the starts and the length of phrases to look up: each passage with a word in a gap contains one of them.

    Args:
        gaps: Ranges of the text's words that no source is known to share.
        run: Minimum length of a passage in words.
        proven: Number of words that a passage hash covers, if no wanted document shares a hash inside a gap; otherwise
            0. A passage with a word in a gap then crosses a border of the gap.
    """
    if proven:
        # For each gap, one phrase ends with the first word of the gap, and another phrase begins with its last word.
        return {*(gaps[:, 0] - proven + 1).tolist(), *(gaps[:, 1] - 1).tolist()}, proven
    # A run that crosses the border of a gap has at least half of its words on one side, and one word on the other. So
    # it contains one of two phrases: half of a run before the border and one word after it, or one word before the
    # border and half of a run after it.
    half, step = run // 2, run - run // 2
    starts = {int(border) - before for border in gaps.ravel() for before in (half, 1)}
    for start, end in gaps[gaps[:, 1] - gaps[:, 0] >= run].tolist():
        starts.update(range(start, end - half, step))
    return starts, half + 1


def find_runs(is_wanted: npt.NDArray[np.bool_], is_allowed: npt.NDArray[np.bool_], run: int) -> list[int]:
    """Return the start of each run of `run` allowed words that contains a wanted word; the runs may overlap.

    >>> find_runs(np.array([False, False, True, False, False]), np.array([False, True, True, True, True]), 3)
    [1, 2]
    """
    wanted, allowed = cumulate_counted(is_wanted), cumulate_counted(is_allowed)
    is_run = (wanted[run:] > wanted[:-run]) & (allowed[run:] - allowed[:-run] == run)
    return [*map(int, np.flatnonzero(is_run))]


def _make_common(
    detector: BoilerplateDetector, is_common: npt.NDArray[np.bool_], covers: Sequence[Numbers], is_ignored: bool
) -> Common:
    covered = mask_ranges(concatenate_ranges(covers), is_common.size)
    limit = None if detector.frequencies is None else detector.frequencies.limit
    return Common(limit, int(np.count_nonzero(is_common)), int(np.count_nonzero(covered & ~is_common)), is_ignored)


def _make_source(
    candidate: Candidate,
    name: str,
    new_words: int,
    passages: Sequence[Passage | HashedPassage],
    once_before: Numbers,
    before: Numbers,
) -> TextSource:
    comparison = candidate.comparison
    return TextSource(
        id=candidate.id,
        name=name,
        words=int(count_words_in(candidate.cover, before).sum()),
        new_words=new_words,
        only_words=int(count_words_in(candidate.cover, once_before).sum()),
        shares=comparison.shares if comparison else None,
        shingles=comparison.b.shingles if comparison else None,
        passages=passages,
        content=candidate.content,
        residual=comparison.residual if comparison else None,
    )


def _hashes_only_warning(scheme: PassageScheme) -> str:
    gap = scheme.window - scheme.hashed_words
    within = f", and {gap} in a row within it" if gap > 0 else ""
    return f"the store keeps no texts: up to {scheme.window - 1} words can be missing at each end of a passage{within}"


def rejoin_words(engine: Engine, of_text: TextWords) -> TextWords:
    """Join the halves of each broken word if a document has the joined word, or no document has the halves.

    A hyphen of the word itself stays, as in `well-known`, because documents have `well-known` and not `wellknown`. If
    no document has either form, join the halves, because documents may break the word at another place.
    """
    if not of_text.broken_words.size or not engine.keeps_texts:
        return of_text
    halves = (f"{of_text.words[at]} {of_text.words[at + 1]}" for at in of_text.broken_words.tolist())
    broken = dict(zip(of_text.whole_words(), halves, strict=True))
    looked_up = list(broken)[:MOST_LOOKED_UP]
    known = _known_phrases(engine, looked_up)
    unknown = [whole for whole in looked_up if whole not in known]
    apart = _known_phrases(engine, [broken[whole] for whole in unknown])
    return of_text.rejoin(known | {whole for whole in unknown if broken[whole] not in apart})


def _known_phrases(engine: Engine, phrases: list[str]) -> set[str]:
    clauses = (Words(phrase, any_apostrophe="'" in phrase) for phrase in phrases)
    counts = [
        count
        for batch in batches(clauses, _AT_ONCE)
        for count in engine.facets(BoundPlan(MatchAll()), [MatchCount(clause) for clause in batch])
    ]
    return {phrase for phrase, count in zip(phrases, counts, strict=True) if count}
