"""Verifies quotations: checks whether the store contains each quotation word for word, and where.

A quotation is first compared with its named source. If the source does not contain it, runs of its words are looked up
as phrases, and the documents with the most runs are read. If none of them contains the quotation, other documents with
its words are read, at most `MOST_READ_PER_QUOTATION`. The comparison uses canonical words, never hashes. Verdicts:

- *exact*: a document contains all words of the quotation in one run.
- *edited*: the best place in a document differs in at most a quarter of the words.
- *stitched*: a document contains the parts between ellipses in order; or runs of at least `RUN_WORDS` words, from one
  or several documents, explain the quotation better than edits.

A quotation of fewer than `FEWEST_WORDS` words is never edited: a few similar words can be a coincidence.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, pairwise, product, takewhile
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import batches
from whorl.engine.protocol import Engine, gap_warnings
from whorl.errors import ParameterError, format_names, shorten_repr
from whorl.fingerprint.words.tokenizer import apostrophe_spellings, fold_apostrophes, tokens
from whorl.operations import VerifyOperation
from whorl.query.ast import WildcardCharacter
from whorl.query.plan.nodes import Bool, BoundLeaf, BoundNode, BoundPlan, DocumentsByScore, InOrder, Words
from whorl.request_context import report_progress, require_time
from whorl.search.quotations.alignment import Alignment, align
from whorl.search.quotations.canonical_words import CanonicalText, is_unspaced
from whorl.search.quotations.cited_sources import CitedDocuments
from whorl.search.quotations.extract_quotations import (
    MOST_CHARACTERS,
    MOST_QUOTATIONS,
    count_unpaired_marks,
    quotations_of,
)
from whorl.search.quotations.results import (
    Difference,
    LookUp,
    Quotation,
    QuotedPlace,
    Verdict,
    Verification,
    VerifiedQuotation,
)

if TYPE_CHECKING:
    from whorl.search.document_references import References

#: Minimum number of words of a run that a quotation shares with a document, and number of words of a looked-up run.
RUN_WORDS, _LOOKED_UP_WORDS = 5, 4
#: Minimum number of words of a quotation that can have the verdict *edited*.
FEWEST_WORDS = 8
#: Maximum share of differing words in an edited quotation. With at least `MANY_EDITS` edits, the quotation may be
#: stitched from several runs instead.
MOST_EDITED, MANY_EDITS = 0.25, 5
#: Maximum share of a stitched quotation's words that are in no run shared with a document.
MOST_UNEXPLAINED = 0.2
#: Maximum number of runs in one look-up, of documents that each look-up returns, and of look-ups for one quotation.
_RUNS_AT_ONCE, _ROWS, _ROUNDS = 64, 4, 5
#: Maximum number of named sources in one request that finds out which of them are excluded.
_MOST_TESTED = 1_000
#: Maximum number of documents to read because they contain words of the quotation, and number to read at once.
MOST_READ_PER_QUOTATION, _READ_AT_ONCE = 500, 20
#: Limits for the words of the quotation that a document must contain: number of words, number of words with a digit,
#: and characters of a run of CJK, Thai or similar characters.
_MOST_REQUIRED, _MOST_NUMBERS, _MOST_UNSPACED = 8, 3, 60
#: If the required words and their neighbours form at least `_FEWEST_PAIRS` pairs of words, the pairs are looked up
#: instead of the words. A document must contain the fraction `_INTACT` of the first half of the pairs, and the same
#: fraction of the second half. If too many documents match, a document must also contain `_NARROWING_PAIRS` other
#: pairs.
_INTACT, _FEWEST_PAIRS, _NARROWING_PAIRS = 0.2, 6, 2
#: Highest footnote number that is looked up between the two words of a pair.
_MOST_FOOTNOTES = 40
#: Preferred length of a chosen word: shorter words are frequent, longer words are more often broken at a line end.
_WORD_LETTERS = 6
#: Maximum number of phrases that rank the documents with the quotation's words, and maximum number of words in such a
#: phrase. The phrases are the beginnings of the quotation's parts.
_RANKING_PHRASES, _RANKING_WORDS = 8, 32
#: Maximum product of the lengths, in words, of a quotation and a document to align.
_MOST_CELLS = 200_000_000
_MOST_PLACES = 10
#: Maximum number of characters of all cached documents, in canonical form.
_KEPT_CHARACTERS = 20_000_000
#: The hyphen and the blank in a word that was broken at the end of a line.
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u00ad‐‑] (?=[^\W\d_])")
#: Remarks in brackets by the author who quotes, in several languages.
_REMARK = re.compile(
    r"\[\s*(?:sic\s*!?|my (?:emphasis|italics)|(?:emphasis|italics) (?:added|mine|ours|in (?:the )?original)"
    r"|hervorhebung(?:en)? (?:hinzugefügt|von mir|im original|durch (?:den|die) verfasser(?:in)?)|meine hervorhebung"
    r"|herv(?:orh)?\. d\. ?verf|je souligne|nous soulignons|c['’]est (?:moi qui souligne|nous qui soulignons)"
    r"|souligné par (?:nous|moi)|italiques? (?:ajoutée?s?|dans l['’]original)"
    r"|(?:corsivo|enfasi|corsivi) (?:mi[oa]|nostr[oa]|aggiunt[oa]|nell['’]originale)"
    r"|(?:énfasis|cursivas?) (?:mí[oa]s?|nuestr[oa]s?|añadid[oa]s?|en el original)|el subrayado es (?:mío|nuestro)"
    r"|(?:grifos?|ênfase) (?:meus?|minha|noss[oa]s?|adicionad[oa]s?|no original)"
    r"|(?:cursivering|nadruk) (?:toegevoegd|van mij|in origineel))\.?\s*\]",
    re.IGNORECASE,
)
#: A footnote mark, an editor's mark such as `[citation needed]`, or the target of a link in Markdown.
_MARK = re.compile(r"\[(?:\^?\w{1,40}|\d{1,3}[\d, –-]{1,30}|[a-z ]{4,16} needed)\]|\]\(\S*\)|[¹²³⁰⁴-⁹]+")
_ELLIPSIS = re.compile(r"\[\s*(?:\.\s?\.\s?\.|…)\s*\]|\.\s?\.\s?\.(?:\s?\.)?|…")
#: Words in brackets, but not a footnote mark or a link. In their place, the document may have the same words, other
#: words, or no words.
_INSERTION = re.compile(r"(?<![.,;:!?\]])\[(?!\^)[^\]]{2,60}\](?!\()")
_GAP = re.compile(f"{_ELLIPSIS.pattern}|{_INSERTION.pattern}")
#: Verdicts from the best to the worst, to choose between two readings of words in brackets.
_BEST_FIRST = (Verdict.EXACT, Verdict.EDITED, Verdict.MISATTRIBUTED, Verdict.STITCHED, Verdict.ABSENT)


def verification_of(
    engine: Engine,
    references: References,
    text: str,
    own_id: str | None,
    options: VerifyOperation,
    *,
    markup: str | None = None,
    excluded: BoundPlan | None = None,
) -> Verification:
    """Verify the quotations of a text, ignoring documents with the same text, because they prove nothing.

    Args:
        text: Plain text, Markdown or HTML.
        own_id: Id of the text, if it is a document of the store; this document is ignored, too.
        markup: The text with its markup, if `text` has no markup.
        excluded: Documents to ignore as well.

    Raises:
        ParameterError: A number is out of its range, or the quotations are too many or too long.
    """
    if options.min_words < 1:
        raise ParameterError(f"min_words must be at least 1, got {options.min_words}")
    plain, quotations = quotations_of(text if markup is None else markup, every_sentence=options.all)
    long = [quotation for quotation in quotations if len(CanonicalText(quotation.quote).words) >= options.min_words]
    copies = [key for key in references.documents_with(text) if key != own_id]
    own_ids = frozenset([*copies, *([] if own_id is None else [own_id])])
    verification = verify_quotations(engine, references, plain, long, own_ids=own_ids, excluded=excluded)
    warnings = [*verification.warnings]
    if unpaired := 0 if options.all else count_unpaired_marks(plain, quotations):
        marks = f"{unpaired:,} quotation mark{'s' * (unpaired > 1)}"
        warnings.append(f"skipped {marks} without a counterpart in the paragraph")
    if copies:
        left_out = format_names([*map(shorten_repr, copies)], 3)
        warnings.append(f"documents with this very text are no sources, so left out {left_out}")
    return replace(verification, warnings=tuple(warnings), is_html=plain != text)


def verify_quotations(
    engine: Engine,
    references: References,
    text: str,
    quotations: Sequence[Quotation],
    *,
    own_ids: frozenset[str] = frozenset(),
    excluded: BoundPlan | None = None,
) -> Verification:
    """Verify quotations, but ignore two groups of documents: `own_ids` (they contain the verified text) and `excluded`.

    Raises:
        ParameterError: A quotation has no word, or quotations are too many or too long.
    """
    if len(quotations) > MOST_QUOTATIONS:
        raise ParameterError(f"at most {MOST_QUOTATIONS:,} quotations are verified at once, got {len(quotations):,}")
    named = CitedDocuments(references, (source for quotation in quotations for source in quotation.sources))
    store = _DocumentReader(engine, own_ids, excluded, named.ids)
    verified = []
    for number, quotation in enumerate(quotations, 1):
        require_time()
        report_progress("verifying quotations", number - 1, len(quotations))
        verified.append(_verify_quotation(store, quotation, named, number))
    warnings = (*(excluded.warnings if excluded else ()), *store.gaps)
    if store.without_text:
        warnings = (f"{len(store.without_text):,} documents were not read: the store keeps no text of them", *warnings)
    return Verification(text, tuple(verified), store.count, warnings)


def _verify_quotation(
    store: _DocumentReader, quotation: Quotation, documents: CitedDocuments, number: int
) -> VerifiedQuotation:
    """Verify a quotation; read words in brackets as words of the document, and if that fails, as insertions."""
    verifier = _Verifier(store, quotation, documents, number)
    literal, insertions = verifier.verify(), verifier.insertions
    if not insertions or literal.verdict is Verdict.EXACT or verifier.has_parts_in_order:
        return literal
    if literal.verdict is Verdict.EDITED and not all(_is_changed(literal, place) for place in insertions):
        # The document has some of the words in brackets, so they belong to the quoted text.
        return literal
    verifier = _Verifier(store, quotation, documents, number, with_insertions=True)
    if not verifier.words:
        return literal
    inserted = verifier.verify()
    if not verifier.has_parts_in_order and _BEST_FIRST.index(literal.verdict) <= _BEST_FIRST.index(inserted.verdict):
        inside = [(start + 1, end - 1) for start, end in insertions if literal.verdict is Verdict.STITCHED]
        quoted = [found.quote for found in literal.places]
        absent = [(low, high) for low, high in inside if not any(start <= low and high <= end for start, end in quoted)]
        return replace(literal, notes=(*literal.notes, *_notes_on_insertions(quotation.quote, absent)))
    notes = dict.fromkeys((*inserted.notes, *literal.notes))
    return replace(inserted, look_up=_merge_look_ups(literal.look_up, inserted.look_up), notes=tuple(notes))


def _is_changed(verified: VerifiedQuotation, place: tuple[int, int]) -> bool:
    """Check whether the quotation differs from a document in the range `place` of the quotation's characters."""
    edits = (difference.quote_place for found in verified.places for difference in found.differences)
    return any(start < place[1] and end > place[0] for start, end in edits)


def _notes_on_insertions(quote: str, insertions: Iterable[tuple[int, int]]) -> list[str]:
    """Return a note for each range of `quote` with words in brackets that the document does not have."""
    texts = dict.fromkeys(" ".join(quote[slice(*place)].strip("[]").split()) for place in insertions)
    return [f"the words in brackets are not in the document: {shorten_repr(text)}" for text in texts]


def _merge_look_ups(first: LookUp | None, second: LookUp | None) -> LookUp | None:
    """Merge the look-ups of two readings of one quotation: the runs of both, and the larger number of documents."""
    if first is None or second is None:
        return first or second
    return replace(first, runs=tuple(dict.fromkeys((*first.runs, *second.runs))), read=max(first.read, second.read))


class _DocumentReader:
    """Reads documents of a store in canonical form, and caches recent documents.

    Args:
        own_ids: Documents with the verified text itself.
        excluded: Plan that matches the documents to ignore, or None.
        named_ids: Documents that the quotations name as their sources.
    """

    def __init__(
        self, engine: Engine, own_ids: frozenset[str], excluded: BoundPlan | None, named_ids: Collection[str]
    ) -> None:
        self._engine, self._excluded = engine, excluded
        self.own_ids = own_ids
        #: Ids of the own documents, and of named sources that are excluded. Other excluded documents are never read,
        #: because look-ups in the store leave them out.
        self.ignored_ids = own_ids | self._find_excluded(named_ids)
        self._cached: OrderedDict[str, CanonicalText] = OrderedDict()
        self._characters = 0
        self._names: dict[str, str] = {}
        # Raise the engine's error if the store keeps no texts.
        engine.texts(())
        self.count, self.profile = engine.count(), engine.scheme.profile
        #: The engine's name for the field with the texts.
        self.content_field = engine.fields().content_field
        #: Warnings about documents that the look-ups miss.
        self.gaps = (*gap_warnings(engine, "words"), *engine.gaps("phrases"))
        self.without_text: set[str] = set()

    def _find_excluded(self, ids: Collection[str]) -> set[str]:
        found = set[str]()
        if self._excluded is not None:
            for batch in batches(sorted(ids), _MOST_TESTED):
                named = DocumentsByScore("named sources", ((0.0, tuple(batch)),))
                plan = BoundPlan(Bool(must=(named, self._excluded.root)))
                found |= {hit.id for hit in self._engine.search(plan, start=0, rows=len(batch)).hits}
        return found

    def read(self, ids: Sequence[str]) -> Mapping[str, CanonicalText]:
        """Return a dict from ids to documents in canonical form; omit documents without a text."""
        missing = [key for key in ids if key not in self._cached and key not in self.without_text]
        texts = self._engine.texts(missing) if missing else {}
        self.without_text.update(key for key in missing if key not in texts)
        found = {key: self._cached[key] for key in ids if key in self._cached}
        for key, content in texts.items():
            found[key] = self._cached[key] = CanonicalText(content)
            self._characters += len(content)
        while self._characters > _KEPT_CHARACTERS and len(self._cached) > 1:
            self._characters -= len(self._cached.popitem(last=False)[1].text)
        return found

    def any_of(self, texts: Iterable[str], weight: float = 1.0) -> Bool[BoundLeaf]:
        """Return a clause for documents that contain at least one of the phrases."""
        phrases = tuple(Words(text, self.content_field, weight) for text in dict.fromkeys(texts))
        return Bool(should=phrases, min_should_match=1)

    def find(self, clause: Bool[BoundLeaf], excluded_ids: Collection[str], most: int) -> tuple[list[str], int]:
        """Return the ids of the `most` best documents, without `excluded_ids`, and the number of further matches."""
        left_out = tuple(self.own_ids.union(excluded_ids))
        without: tuple[BoundNode, ...] = () if self._excluded is None else (self._excluded.root,)
        if left_out:
            without = (*without, DocumentsByScore("read documents", ((0.0, left_out),)))
        page = self._engine.search(BoundPlan(Bool(must=(clause,), must_not=without)), start=0, rows=most)
        self._names |= {hit.id: hit.name for hit in page.hits}
        return [hit.id for hit in page.hits], page.total - len(page.hits)

    def name(self, document_id: str) -> str:
        if document_id not in self._names:
            self._names[document_id] = self._engine.names([document_id]).get(document_id, "")
        return self._names[document_id]


@dataclass(frozen=True, slots=True)
class _Run:
    """Words `start` to `end` (exclusive) of a quotation. The same words begin at the word `at` of a document."""

    start: int
    end: int
    at: int


@dataclass(frozen=True, slots=True, eq=False)
class _Match:
    """Result of comparing a document with a quotation.

    Args:
        spans: Ranges of the document's words that equal the quotation, or its parts between ellipses, in order; empty
            if a part is missing.
        alignments: The most similar place for each part; empty if the document was not aligned.
        runs: Runs of the quotation's words in the document.
        ignores_numbers: Whether numbers in brackets after words were taken for footnote marks.
    """

    id: str
    document: CanonicalText
    spans: tuple[tuple[int, int], ...] = ()
    alignments: tuple[Alignment, ...] = ()
    runs: tuple[_Run, ...] = ()
    ignores_numbers: bool = False

    @property
    def distance(self) -> float:
        """Edit distance in words; infinity if the document was not aligned."""
        return sum(alignment.distance for alignment in self.alignments) if self.alignments else math.inf


class _Verifier:
    def __init__(
        self,
        store: _DocumentReader,
        quotation: Quotation,
        documents: CitedDocuments,
        number: int,
        *,
        with_insertions: bool = False,
    ) -> None:
        if len(quotation.quote) > MOST_CHARACTERS:
            raise ParameterError(
                f"quotation {number} has {len(quotation.quote):,} characters; a quotation has at most "
                f"{MOST_CHARACTERS:,}, and longer texts are for 'whorl sources'"
            )
        self._store, self._quotation = store, quotation
        #: The quotation with remarks such as `[sic]`, which the document may contain, too.
        self._remarked = CanonicalText(quotation.quote)
        if not self._remarked.words:
            raise ParameterError(f"quotation {number} has no word: {quotation.quote!r:.80}")
        quote = _REMARK.sub(lambda found: " " * len(found[0]), quotation.quote)
        self._whole = self._remarked if quote == quotation.quote else CanonicalText(quote)
        if not self._whole.words:
            quote, self._whole = quotation.quote, self._remarked
        #: Ranges of characters of words in brackets, which may be insertions.
        self.insertions = [found.span() for found in _GAP.finditer(quote) if not _ELLIPSIS.fullmatch(found[0])]
        pieces = _split_at(_GAP if with_insertions else _ELLIPSIS, quote)
        parts = [(0, self._whole)]
        if len(pieces) > 1:
            parts = [(start, CanonicalText(quote[start:end])) for start, end in pieces]
        self._with_insertions = with_insertions
        self._offsets = [start for start, part in parts if part.words]
        self._parts = [part for _, part in parts if part.words]
        self.words = [word for part in self._parts for word in part.words]
        #: Index of the first word of each part, and the total number of words.
        self._bounds = [0, *accumulate(len(part.words) for part in self._parts)]
        self._in_order: _Match | None = None
        self.has_parts_in_order = False
        self._notes: list[str] = []
        self._named = self._find_named(documents)
        self._runs: dict[str, None] = {}
        self._unread = 0
        self._read: set[str] = set()
        self._is_complete = True

    def _find_named(self, documents: CitedDocuments) -> list[str]:
        """Return the ids of the documents that the sources name, and add notes about unknown names."""
        named: dict[str, None] = {}
        sources = []
        for source in self._quotation.sources:
            ids, notes = documents.find(source)
            others = [key for key in ids if key not in self._store.ignored_ids]
            if ids and not others:
                is_own = self._store.own_ids.issuperset(ids)
                notes = [*notes, f"the named source is {'the text itself' if is_own else 'excluded'}"]
            named |= dict.fromkeys(others)
            self._notes += notes
            if others or notes or source.is_certain:
                # Keep only brackets with a known or likely name of a document: other brackets probably name no source.
                sources.append(source)
        self._quotation = replace(self._quotation, sources=tuple(sources))
        return [*named]

    @property
    def _is_long(self) -> bool:
        return len(self.words) >= FEWEST_WORDS

    def verify(self) -> VerifiedQuotation:
        named = self._compare_named()
        others: list[_Match] = []
        if not named or not self._decides_verdict(named[0]):
            for match in self._documents_with_runs(named):
                others.append(match)
                if match.spans:
                    break
            if not any(match.spans for match in others):
                others += self._find_exact_by_words([*named, *others])
        verdict, places = self._verdict(named, others)
        self.has_parts_in_order = verdict is Verdict.STITCHED and self._in_order is not None
        read = len(self._read.difference(self._named))
        is_complete = self._is_complete and not self._store.gaps
        looked_up = LookUp(tuple(self._runs), self._store.count, read, is_complete) if self._runs else None
        notes = tuple(self._explain(verdict, [*named[:1], *others], is_complete=is_complete))
        source_id = named[0].id if named else next(iter(self._named), None)
        return VerifiedQuotation(
            self._quotation, len(self.words), verdict, source_id, places[:_MOST_PLACES], looked_up, notes
        )

    def _explain(self, verdict: Verdict, matches: Iterable[_Match], *, is_complete: bool) -> Iterator[str]:
        """Yield notes on a verdict and on the sources of the quotation."""
        if verdict is Verdict.EXACT and any(match.ignores_numbers for match in matches):
            yield "numbers in brackets after words were taken for footnote marks"
        if self._unread:
            yield f"{self._unread:,} more documents with its words were not read; one of them may have it word for word"
        elif not is_complete and verdict is Verdict.ABSENT:
            yield "its words cannot all be looked up, so its absence is not proved"
        yield from self._notes
        if self._with_insertions and verdict is not Verdict.ABSENT:
            yield from _notes_on_insertions(self._quotation.quote, self._find_missing_insertions())
        for mark in self._quotation.missing_footnotes:
            yield f"the text has no footnote {mark}"

    def _compare_named(self) -> list[_Match]:
        """Compare the named sources; return the first exact match alone, or all matches, the most similar first."""
        for match in self._exact_matches(self._named):
            if len(match.spans) == 1:
                return [match]
        return sorted(self._compare_documents(self._named), key=_rank)

    def _find_missing_insertions(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the insertions (words in brackets) that the document lacks at their position.

        An insertion is between two parts of the quotation. Its words may follow the first part in the document, or
        precede the second part.
        """
        for start, end in self.insertions:
            words = CanonicalText(self._quotation.quote[start:end]).words
            following = bisect_right(self._offsets, start)
            found, is_there = self._in_order, False
            if found is not None and following < len(self._parts):
                at = found.spans[following][0]
                is_there = at >= len(words) and found.document.words[at - len(words) : at] == words
            if found is not None and following and not is_there:
                at = found.spans[following - 1][1]
                is_there = found.document.words[at : at + len(words)] == words
            if not is_there:
                yield start, end

    def _decides_verdict(self, match: _Match) -> bool:
        return bool(match.spans) or (match.distance < MANY_EDITS and self._is_near(match))

    def _is_near(self, match: _Match) -> bool:
        return match.distance <= MOST_EDITED * len(self.words)

    def _verdict(
        self, named_matches: Sequence[_Match], others: Sequence[_Match]
    ) -> tuple[Verdict, tuple[QuotedPlace, ...]]:
        """Return the verdict and the places; `named_matches` are the matches in named sources, the best first."""
        everything = [*named_matches, *others]
        unexplained = self._count_unexplained(everything)
        if named_matches:
            own, alone = named_matches[0], self._count_unexplained(named_matches)
            if (placed := self._judge_match(own, min(alone, unexplained))) is not None:
                return placed
            is_elsewhere = any(len(match.spans) == 1 for match in others)
            if self._is_near(own) and not is_elsewhere:
                return Verdict.STITCHED, self._find_stitches(everything)
            if alone <= MOST_UNEXPLAINED * len(self.words) and not is_elsewhere:
                return Verdict.STITCHED, self._find_stitches(named_matches)
        best = min(others, key=_rank, default=None)
        if best is not None and (placed := self._judge_match(best, unexplained)) is not None:
            # If the store lacks the named source, a quotation in a text keeps its verdict, but a quotation that was
            # given alone is misattributed.
            is_given_alone = self._quotation.sources and not self._named and self._quotation.place is None
            return (Verdict.MISATTRIBUTED if named_matches or is_given_alone else placed[0]), placed[1]
        if self._is_long and unexplained <= MOST_UNEXPLAINED * len(self.words):
            return Verdict.STITCHED, self._find_stitches(everything)
        return Verdict.ABSENT, ()

    def _judge_match(self, match: _Match, unexplained: int) -> tuple[Verdict, tuple[QuotedPlace, ...]] | None:
        """Return the verdict and the places if one document contains the quotation; otherwise None.

        `unexplained` is the number of the quotation's words that are in no run shared with a document.

        The result is also None if the quotation is more likely a combination of runs than an edited text: the best
        alignment has at least `MANY_EDITS` edits, and at least three times as many edits as unexplained words.
        """
        if len(match.spans) == 1:
            quote = self._whole.place(0, len(self._whole.words))
            return Verdict.EXACT, (self._make_place(match, quote, match.spans[0]),)
        if match.spans:
            self._in_order = match
            return Verdict.STITCHED, tuple(
                self._make_place(match, self._range_in_quote(low, high), span)
                for (low, high), span in zip(pairwise(self._bounds), match.spans, strict=True)
            )
        if not self._is_near(match) or (match.distance >= MANY_EDITS and unexplained <= match.distance / 3):
            return None
        # If the distance is 0 here, the document has all parts of the quotation, but in another order.
        return (Verdict.EDITED if match.distance else Verdict.STITCHED), self._find_edited_places(match)

    def _find_edited_places(self, match: _Match) -> tuple[QuotedPlace, ...]:
        """Return the most similar place in the document for each part of the quotation, with the differences."""
        places = []
        for (low, high), aligned in zip(pairwise(self._bounds), match.alignments, strict=True):
            if aligned.start == aligned.end:
                continue
            differences = []
            for edit in aligned.edits:
                quote = self._range_in_quote(edit.quote[0] + low, edit.quote[1] + low)
                document = _characters_of(match.document, edit.document)
                texts = self._quotation.quote[slice(*quote)], match.document.text[slice(*document)]
                differences.append(Difference(*texts, quote, document))
            quote, words = self._range_in_quote(low, high), (aligned.start, aligned.end)
            places.append(self._make_place(match, quote, words, differences))
        return tuple(places)

    def _find_stitches(self, matches: Sequence[_Match]) -> tuple[QuotedPlace, ...]:
        """Choose few documents whose runs together cover the quotation; return the places of these runs, in order."""
        is_open, left = np.full(len(self.words), True), list(matches)
        places: list[QuotedPlace] = []
        while left:
            best = max(left, key=lambda match: int(np.count_nonzero(is_open & self._mask_covered([match]))))
            for run in best.runs:
                if is_open[run.start : run.end].any():
                    span = run.at, run.at + run.end - run.start
                    places.append(self._make_place(best, self._range_in_quote(run.start, run.end), span))
            is_open &= ~self._mask_covered([best])
            left.remove(best)
        return tuple(sorted(places, key=lambda place: place.quote[0]))

    def _make_place(
        self, match: _Match, quote: tuple[int, int], words: tuple[int, int], differences: Sequence[Difference] = ()
    ) -> QuotedPlace:
        name, text = self._store.name(match.id), match.document
        return QuotedPlace(match.id, name, quote, text.place(*words), tuple(differences), text.text)

    def _range_in_quote(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of characters in the quotation for a range of words in one part."""
        part = max(0, bisect_right(self._bounds, start, hi=len(self._bounds) - 1) - 1)
        if start == self._bounds[part] and start == end and part:
            part -= 1
        first, offset = self._bounds[part], self._offsets[part]
        low, high = _characters_of(self._parts[part], (start - first, end - first))
        return low + offset, high + offset

    def _mask_covered(self, matches: Iterable[_Match]) -> npt.NDArray[np.bool_]:
        mask = np.zeros(len(self.words), np.bool_)
        for match in matches:
            for run in match.runs:
                mask[run.start : run.end] = True
        return mask

    def _count_unexplained(self, matches: Iterable[_Match]) -> int:
        return len(self.words) - int(np.count_nonzero(self._mask_covered(matches)))

    def _documents_with_runs(self, named: Sequence[_Match]) -> Iterator[_Match]:
        """Yield documents with runs of the quotation's words; each look-up yields the best documents first.

        After a document that decides the verdict, compare only the other documents of its look-up, which may have fewer
        edits.
        """
        seen = {*self._named}
        matches = [*named]
        for round_ in range(_ROUNDS):
            require_time()
            # The first look-up uses whole parts of the quotation, the second look-up uses runs of words from all parts,
            # and later look-ups use only runs of words that were not found yet.
            if round_ == 0:
                wanted = [_phrase(part, 0, len(part.words)) for part in self._parts]
            elif round_ == 1:
                wanted = self._phrases(np.full(len(self.words), True))
            else:
                wanted = self._phrases(~self._mask_covered(matches))
            self._runs |= dict.fromkeys(wanted)
            phrases = self._store.any_of(spelling for phrase in wanted for spelling in _spellings(phrase))
            found = self._store.find(phrases, (), _ROWS)[0] if phrases.should else []
            ids = [key for key in found if key not in seen]
            if not ids and round_:
                return
            seen.update(ids)
            # The best document usually contains the quotation word for word, so compare it alone first.
            for match in chain.from_iterable(map(self._compare_documents, (ids[:1], ids[1:]))):
                matches.append(match)
                yield match
            if any(map(self._decides_verdict, matches)):
                return

    def _phrases(self, is_open: npt.NDArray[np.bool_]) -> list[str]:
        """Return runs of `_LOOKED_UP_WORDS` words marked in `is_open`, spread evenly over the quotation."""
        places = [
            (part, start)
            for number, part in enumerate(self._parts)
            for start in range(len(part.words) - _LOOKED_UP_WORDS + 1)
            if is_open[self._bounds[number] + start :][:_LOOKED_UP_WORDS].all()
        ]
        step = -(-len(places) // _RUNS_AT_ONCE) or 1
        return [_phrase(part, start, start + _LOOKED_UP_WORDS) for part, start in places[::step]]

    def _compare_documents(self, ids: Sequence[str]) -> Iterator[_Match]:
        for document_id, document in self._store.read(ids).items():
            require_time()
            yield self._compare(document_id, document)

    def _find_exact_by_words(self, read: Sequence[_Match]) -> list[_Match]:
        """Read more documents with words of the quotation; return the first exact match in a list, or an empty list."""
        words, self._is_complete = _choose_required_words(self.words)
        ids, left = self._look_up_words(words, read)
        for match in self._exact_matches(ids):
            return [match]
        self._unread, self._is_complete = left, self._is_complete and not left
        return []

    def _look_up_words(self, words: Sequence[int], read: Sequence[_Match]) -> tuple[list[str], int]:
        """Return unread documents with the required `words` or pairs with them, and the number of further matches."""
        phrases = [
            self._store.any_of(_spellings(_phrase(part, 0, min(_RANKING_WORDS, len(part.words)))))
            for part in self._parts[:_RANKING_PHRASES]
        ]
        seen = {match.id for match in read}
        most = max(0, MOST_READ_PER_QUOTATION - len(seen))
        pairs = sorted({at for word in words for at in (word - 1, word) if self._is_pair(at)})
        if len(pairs) < _FEWEST_PAIRS:
            # Without required words, this clause is empty and matches no document.
            required = Bool(must=_clauses_of_all_spellings(self.words, words, self._store))
            return self._store.find(Bool(should=(required, *phrases), min_should_match=1), seen, most)
        half = len(pairs) // 2
        intact = self._clause_of_intact_pairs(pairs[:half]), self._clause_of_intact_pairs(pairs[half:])
        ids, left = self._store.find(Bool(must=intact), seen, _READ_AT_ONCE)
        if not left:
            return ids, 0
        # Too many documents match, so require other pairs as well: pairs that no document read so far contains.
        others = map(self._clause_of_pair, self._pairs_in_none(read))
        return self._store.find(Bool(must=(*intact, *others), should=tuple(phrases)), seen, most)

    def _is_pair(self, at: int) -> bool:
        """Check whether a word and the next word are in one part and in a script that puts blanks between words."""
        is_inside = 0 <= at < len(self.words) - 1 and at + 1 not in self._bounds
        return is_inside and not any(map(is_unspaced, self.words[at : at + 2]))

    def _pairs_in_none(self, read: Sequence[_Match]) -> list[int]:
        """Return the longest word pairs that are in no run of the read documents, each as the index of its first word.

        The result has at most `_NARROWING_PAIRS` pairs.
        """
        known = {at for match in read for run in match.runs for at in range(run.start, run.end - 1)}
        # Leave out the first and last pair of each part: a document may join their outer words to other words.
        known.update(self._bounds, (bound - 2 for bound in self._bounds))
        # Leave out words with apostrophes, which have many spellings.
        known.update(at - after for at, word in enumerate(self.words) if "'" in word for after in (0, 1))
        pairs = [at for at in range(len(self.words)) if self._is_pair(at) and at not in known]
        return sorted(pairs, key=lambda at: len(self.words[at] + self.words[at + 1]))[-_NARROWING_PAIRS:]

    def _clause_of_pair(self, at: int) -> Bool[BoundLeaf]:
        """Return a clause for documents with a pair of neighbouring words, in any spelling.

        A footnote number may be between the words, or the document may break, join or emphasise one of them.
        """
        pair = " ".join(self.words[at : at + 2])
        others = (text for word in (at, at + 1) for text in _other_spellings(self.words, word, self._store.profile))
        footnoted = (pair.replace(" ", f" {number} ") for number in range(1, _MOST_FOOTNOTES + 1))
        return self._store.any_of((*_spellings(pair), *others, *footnoted), 0.0)

    def _clause_of_intact_pairs(self, pairs: Sequence[int]) -> Bool[BoundLeaf]:
        """Return a clause for documents with the share `_INTACT` of the pairs, joined by a blank or a full stop."""
        joined = (sign.join(self.words[at : at + 2]) for at in pairs for sign in " .")
        phrases = self._store.any_of(chain.from_iterable(map(apostrophe_spellings, joined)))
        return replace(phrases, min_should_match=math.ceil(_INTACT * len(pairs)))

    def _exact_matches(self, ids: Sequence[str]) -> Iterator[_Match]:
        """Yield the documents that have the whole quotation, or all its parts in order."""
        for batch in batches(ids, _READ_AT_ONCE):
            for document_id, document in self._store.read(batch).items():
                require_time()
                if match := self._exact_match(document_id, document):
                    yield match

    def _exact_match(self, document_id: str, document: CanonicalText) -> _Match | None:
        self._read.add(document_id)
        for text, at, count, ignores_numbers in self._find_whole(document):
            if at is not None:
                whole = _Run(0, len(self.words), at)
                return _Match(document_id, text, ((at, at + count),), (), (whole,), ignores_numbers)
        if len(self._parts) > 1:
            versions = [(self._parts, document)]
            if self._whole.has_lone_marks and all(part.longest_unmarked_run in document.joined for part in self._parts):
                versions.append(([part.as_typed for part in self._parts], document.as_typed))
            for parts, text in versions:
                if spans := _find_in_order(parts, text):
                    return _Match(document_id, text, spans)
        return None

    def _find_whole(self, document: CanonicalText) -> Iterator[tuple[CanonicalText, int | None, int, bool]]:
        """Search readings of a document for the whole quotation.

        Yield each reading, the index of the quotation's first word in it (or None), the number of the quotation's
        words, and whether numbers in brackets were ignored.
        """
        quotes = self._whole.readings
        if self._remarked.words != self._whole.words:
            quotes = (*quotes, *self._remarked.readings)
        for quote, text in product(quotes, document.readings):
            yield text, text.find(quote.words), len(quote.words), False
        if self._whole.has_lone_marks and self._whole.longest_unmarked_run in document.joined:
            words, text = self._whole.as_typed.words, document.as_typed
            yield text, text.find_with_marks(words), len(words), False
        if document.is_footnoted and (words := self._whole.without_numbers.words):
            text = document.without_numbers
            yield text, text.find(words), len(words), True

    def _compare(self, document_id: str, document: CanonicalText) -> _Match:
        if match := self._exact_match(document_id, document):
            return match
        if not self._is_long:
            return _Match(document_id, document)
        runs = [run for number in range(len(self._parts)) for run in self._runs_in(document, number)]
        alignments: list[Alignment] = []
        if len(self.words) * len(document.words) <= _MOST_CELLS:
            alignments = [align(part.words, document.words) for part in self._parts]
        return _Match(document_id, document, (), tuple(alignments), tuple(runs))

    def _runs_in(self, document: CanonicalText, number: int) -> Iterator[_Run]:
        """Yield the longest runs of at least `RUN_WORDS` words that a document shares with the part `number`."""
        words, first, start = self._parts[number].words, self._bounds[number], 0
        while start + RUN_WORDS <= len(words):
            length, run = RUN_WORDS, None
            while start + length <= len(words) and (at := document.find(words[start : start + length])) is not None:
                pairs = zip(words[start + length :], document.words[at + length :], strict=False)
                length += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
                run = _Run(first + start, first + start + length, at)
                length += 1
            if run is not None:
                yield run
            # The next run may begin inside this run, so do not skip all of it.
            start += max(1, length - RUN_WORDS)


def _find_in_order(parts: Sequence[CanonicalText], document: CanonicalText) -> tuple[tuple[int, int], ...]:
    """Return the range of each part's words in `document`; empty unless it contains all parts in order."""
    spans: list[tuple[int, int]] = []
    for part in parts:
        at = document.find(part.words, spans[-1][1] if spans else 0)
        if at is None:
            return ()
        spans.append((at, at + len(part.words)))
    return tuple(spans)


def _rank(match: _Match) -> tuple[bool, int, float]:
    return not match.spans, len(match.spans), match.distance


def _choose_required_words(words: Sequence[str]) -> tuple[list[int], bool]:
    """Return indices of words to search for, and whether a search for them finds every document with the quotation.

    Words of scripts without blanks are not chosen, so a search for the words may miss documents if the quotation has
    such words, or if no word can be chosen. The first and the last word are chosen only if the quotation is short: a
    document may join them to other words.
    """
    inner = range(1, len(words) - 1) if len(words) > 3 else range(len(words))
    spaced = {words[at]: at for at in inner if not is_unspaced(words[at]) and any(tokens(words[at]))}
    # A word with an apostrophe has many spellings, so choose one only if there is no other word.
    spaced = {word: at for word, at in spaced.items() if "'" not in word} or dict([*spaced.items()][:1])
    numbers = [at for word, at in spaced.items() if any(map(str.isdigit, word))][:_MOST_NUMBERS]
    by_length = sorted(spaced.values(), key=lambda at: abs(len(words[at]) - _WORD_LETTERS))
    required = [*dict.fromkeys((*numbers, *by_length))][:_MOST_REQUIRED]
    return required, not any(map(is_unspaced, words)) and bool(spaced)


def _clauses_of_all_spellings(
    words: Sequence[str], chosen: Sequence[int], store: _DocumentReader
) -> tuple[Bool[BoundLeaf], ...]:
    """Return clauses for the documents that have all chosen words, in any spelling.

    A document may break a word at the end of a line, join it to the next word by a full stop (`four.Five`), or
    emphasise it by underscores.
    """
    clauses = []
    for at in chosen:
        texts = (*_spellings(words[at]), *_other_spellings(words, at, store.profile))
        clauses.append(store.any_of(chain.from_iterable(map(apostrophe_spellings, texts)), 0.0))
    runs = ["".join(run) for is_run, run in groupby(words, is_unspaced) if is_run]
    for run in runs[:_MOST_REQUIRED]:
        # The index splits a run of these characters by a dictionary. The first and the last word depend on the
        # characters around the run, so leave them out.
        inside = tokens(run[:_MOST_UNSPACED])[1:-1]
        if len(inside) > 1:
            clauses.append(replace(store.any_of(inside), min_should_match=len({*inside}) // 2))
        else:
            any_ = WildcardCharacter.ANY
            patterns = ((any_, character, any_) for character in run[:3])
            clauses += [Bool(must=(InOrder((pattern,), 0, store.content_field, 0.0),)) for pattern in patterns]
    return tuple(clauses)


def _other_spellings(words: Sequence[str], at: int, profile: str) -> Iterator[str]:
    """Yield the spellings of a word in a document that hyphenates it, emphasises it or joins it to a neighbour."""
    word, before, after = words[at], words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    emphasised = [text for marks in ("_", "__") for text in (marks + word, word + marks, marks + word + marks)]
    cuts = () if any(map(str.isdigit, word)) else range(1, min(len(word), 40))
    groups = {word: [*emphasised, *(f"{word[:cut]} {word[cut:]}" for cut in cuts)]}
    for run in ((before, word), (word, after), (before, word, after)):
        groups[" ".join(run)] = [sign.join(run) for sign in ".:·"]
    for usual, texts in groups.items():
        usual_tokens = tokens(usual, profile)
        yield from (text for text in texts if usual.isalnum() or tokens(text, profile) != usual_tokens)


def _split_at(gaps: re.Pattern[str], quote: str) -> list[tuple[int, int]]:
    ends = [0, *(end for found in gaps.finditer(quote) for end in found.span()), len(quote)]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _characters_of(text: CanonicalText, words: tuple[int, int]) -> tuple[int, int]:
    """Return the range of characters for a range of words; for an empty range, the position before the next word."""
    start, end = words
    if start < end:
        return text.place(start, end)
    at = text.place(start, start + 1)[0] if start < len(text.words) else text.place(start - 1, start)[1]
    return at, at


def _phrase(text: CanonicalText, start: int, end: int) -> str:
    return " ".join(text.text[slice(*text.place(start, end))].split())


def _spellings(phrase: str) -> Iterator[str]:
    """Yield the spellings of a phrase in an index: apostrophes, hyphens, footnote marks and links may differ."""
    straight = fold_apostrophes(phrase)
    for marked in dict.fromkeys((straight, _MARK.sub("", straight))):
        for joined in dict.fromkeys((_BROKEN.sub("-", marked), _BROKEN.sub("", marked))):
            yield from apostrophe_spellings(joined, "'’")
