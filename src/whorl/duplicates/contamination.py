"""Finds documents that contain reference texts, such as training rows that contain items of a test set.

Memory holds an inverted index of the reference's shingles, the matches, and 16 bytes for the id of each document. The
search reads the documents once, looks up the hash of each shingle, and counts the shingles shared with each reference
text, in linear time. It compares words, so line breaks, case and punctuation have no effect, and ignores the numbers of
list items.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whorl.arrays import batches, chunks, run_starts, sorted_distinct, spread, with_made
from whorl.duplicates.options import DuplicatesOptions, PairOptions
from whorl.duplicates.result import Cluster, Member, Pair
from whorl.duplicates.sketch_arrays import Numbers
from whorl.duplicates.sketch_store import IdFile
from whorl.duplicates.sketching import part_of
from whorl.duplicates.worker_pool import AT_ONCE, map_in_processes, start_method
from whorl.errors import ParameterError
from whorl.fingerprint.batch import Together, hashed_together
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import spans
from whorl.model import Document
from whorl.operations import DuplicatesOperation
from whorl.request_context import report_progress, require_time

#: Size of the filter: slots per hash of the reference, and binary logarithms of the fewest and most slots.
_SLOTS, _LEAST_BITS, _MOST_BITS = 8, 16, 28
#: Number of shingle occurrences in reference texts to count at a time.
_COUNTED_AT_ONCE = 1 << 22
#: Maximum number of positions of a repeated shingle to try for the longest shared passage.
_PLACES = 64
#: Maximum length of a displayed passage, in characters.
_SHOWN = 100
#: Line break, blanks, and the number or letter of a list item: `12.`, `3)`, `(a)`, `B.` Possessive quantifiers are
#: several times faster.
_NUMBERING = re.compile(r"\n[ \t]*+\(?+(?:[0-9]{1,3}+[.):]|[a-zA-Z][.)])(?=[ \t])")

_BY_DEFAULT = DuplicatesOperation(reference_only=True)

_Hashes = npt.NDArray[np.uint64]


def unnumbered(texts: Sequence[str]) -> list[str]:
    r"""Replace the numbers of list items by blanks, so that texts keep their lengths.

    >>> unnumbered(["1. one\n(b) two, 3. three", "four"])
    ['   one\n    two, 3. three', 'four']
    """
    # Many texts are short, so search all of them in one call.
    joined = _NUMBERING.sub(lambda number: "\n" + " " * (len(number[0]) - 1), "\n" + "\n".join(texts))
    ends = accumulate(len(text) + 1 for text in texts)
    return [joined[end - len(text) : end] for text, end in zip(texts, ends, strict=True)]


class ReferenceIndex:
    """Index of the shingles of reference texts; `sizes` has the number of distinct shingles of each text."""

    def __init__(self, documents: Sequence[Document], scheme: Scheme, within: str | None = None) -> None:
        self.documents, self.scheme = documents, scheme
        self.parts = np.array([part_of(document, within) for document in documents], np.object_)
        portions = map(unnumbered, batches([document.text for document in documents], AT_ONCE))
        together = list(hashed_together(portions, scheme, in_order=True))
        #: Hashes of all shingles in text order, and the offset of each text's first hash.
        self._ordered = np.concatenate([np.empty(0, np.uint64), *(portion.hashes for portion in together)])
        counts = np.concatenate([np.empty(0, np.int64), *(portion.sizes for portion in together)])
        self._begins = np.append(0, np.cumsum(counts))
        texts = np.repeat(np.arange(counts.size), counts)
        order = np.lexsort((texts, self._ordered))
        hashes, texts = self._ordered[order], texts[order]
        firsts = run_starts(hashes, texts)
        hashes, self._texts = hashes[firsts], texts[firsts]
        self.sizes = np.bincount(self._texts, minlength=counts.size)
        #: For each distinct hash, the range in `_texts` of the texts with this hash.
        self._starts = run_starts(hashes)
        self._counts = np.diff(self._starts, append=hashes.size)
        self._hashes = hashes[self._starts]
        bits = min(max(_LEAST_BITS, (_SLOTS * self._hashes.size).bit_length()), _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        #: Caches for found reference texts: positions of shingles, and ranges of words.
        self._known_places, self._known_spans = dict[int, dict[int, list[int]]](), dict[int, npt.NDArray[np.int64]]()
        #: Bit filter of the hashes' upper bits; excludes nearly all hashes of documents.
        self._filter = np.zeros(1 << bits, np.bool_)
        self._filter[self._slots(self._hashes)] = True

    def _slots(self, hashes: _Hashes) -> npt.NDArray[np.int64]:
        return (hashes >> self._shift).view(np.int64)

    def look_up(self, hashes: _Hashes) -> tuple[Numbers, Numbers]:
        """Return the positions of the hashes that are in the reference, and their indices in the reference."""
        positions = np.flatnonzero(self._filter[self._slots(hashes)])
        sought = hashes[positions]
        numbers = np.minimum(np.searchsorted(self._hashes, sought), max(self._hashes.size - 1, 0))
        is_there = self._hashes[numbers] == sought if positions.size else np.zeros(0, np.bool_)
        return positions[is_there], numbers[is_there]

    def count_shared(self, rows: Numbers, numbers: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Count the distinct hashes that documents share with each reference text.

        `rows` has the document of each hash, ascending; `numbers` has the hashes, distinct within a document. Yields
        batches of documents, reference texts, and numbers of shared hashes.
        """
        counts = self._counts[numbers]
        begins = run_starts(rows)
        weights = np.add.reduceat(counts, begins) if begins.size else counts
        ends = np.append(begins[1:], rows.size)
        for group in chunks(range(begins.size), lambda at: int(weights[at]), _COUNTED_AT_ONCE):
            require_time()
            own = slice(int(begins[group[0]]), int(ends[group[-1]]))
            texts = self._texts[spread(self._starts[numbers[own]], counts[own])]
            pairs, shared = np.unique(
                np.repeat(rows[own], counts[own]) * len(self.documents) + texts, return_counts=True
            )
            yield (*np.divmod(pairs, len(self.documents)), shared)

    def longest_run(self, text: int, hashes: _Hashes) -> tuple[int, int, int]:
        """Return the longest run of shingles that a reference text shares with a document.

        `hashes` are the document's hashes, in the order of its text.

        Returns:
            First shingle in the reference text, first shingle in the document, and number of shingles.
        """
        places = self._places(text)
        best, lengths = (0, 0, 0), dict[int, int]()
        for at, value in enumerate(hashes.tolist()):
            # Extend a shared run that ended at the previous shingle of both texts.
            lengths = {place: lengths.get(place - 1, 0) + 1 for place in places.get(value, ())}
            for place, length in lengths.items():
                if length > best[2]:
                    best = place - length + 1, at - length + 1, length
        return best

    def _places(self, text: int) -> dict[int, list[int]]:
        if text not in self._known_places:
            places = self._known_places[text] = dict[int, list[int]]()
            for place, value in enumerate(self._ordered[self._begins[text] : self._begins[text + 1]].tolist()):
                known = places.setdefault(value, [])
                if len(known) < _PLACES:
                    known.append(place)
        return self._known_places[text]

    def word_spans(self, text: int) -> npt.NDArray[np.int64]:
        if text not in self._known_spans:
            self._known_spans[text] = spans(unnumbered([self.documents[text].text])[0], self.scheme.profile)
        return self._known_spans[text]


@dataclass(frozen=True, slots=True)
class ReferenceMatch:
    """A document that contains a reference text.

    Args:
        text: Index of the reference text.
        row: Index of the document in its batch; in `ReferenceMatches`, among all documents.
        shared: Number of distinct shared shingles.
        spans: Half-open character ranges of the longest shared passage, in the reference text and in the document.
        passage: Beginning of that passage in the document.
    """

    text: int
    row: int
    document: Member
    shared: int
    spans: tuple[tuple[int, int], tuple[int, int]]
    passage: str


@dataclass(frozen=True, slots=True)
class MatchBatch:
    ids: list[str]
    is_too_short: npt.NDArray[np.bool_]
    matches: list[ReferenceMatch]


@dataclass(frozen=True, slots=True)
class _ReferenceSearch:
    index: ReferenceIndex
    options: DuplicatesOptions

    def __call__(self, documents: Iterable[Document]) -> Iterator[MatchBatch]:
        read = with_made(
            batches(documents, AT_ONCE),
            lambda ahead: hashed_together(
                (unnumbered([document.text for document in batch]) for batch in ahead),
                self.options.scheme,
                in_order=True,
            ),
        )
        for batch, together in read:
            ids = [document.id for document in batch]
            yield MatchBatch(ids, together.sizes == 0, list(self._matches(batch, together)))

    def _matches(self, documents: Sequence[Document], together: Together) -> Iterator[ReferenceMatch]:
        index, pairs = self.index, self.options.pairs
        ends = np.cumsum(together.sizes)
        positions, numbers = index.look_up(together.hashes)
        rows = np.searchsorted(ends, positions, side="right")
        # Keep the first of equal hashes of a document.
        order = np.lexsort((numbers, rows))
        firsts = order[run_starts(rows[order], numbers[order])]
        rows, numbers = rows[firsts], numbers[firsts]
        # The number of shingles that a document shares with the reference is a lower bound of its size.
        least_sizes = np.bincount(rows, minlength=len(documents))
        for row, text, shared in index.count_shared(rows, numbers):
            is_possible = shared >= pairs.least_overlap(index.sizes[text], least_sizes[row])
            if self.options.within is not None:
                own = np.array([part_of(document, self.options.within) for document in documents], np.object_)
                is_possible &= own[row] == index.parts[text]
            row, text, shared = row[is_possible], text[is_possible], shared[is_possible]
            hashes = {at: together.hashes[ends[at] - together.sizes[at] : ends[at]] for at in np.unique(row).tolist()}
            sizes = {at: sorted_distinct([own]).size for at, own in hashes.items()}
            row_sizes = np.array([sizes[at] for at in row.tolist()], np.int64)
            is_match = shared >= pairs.least_overlap(index.sizes[text], row_sizes)
            row, text, shared = row[is_match], text[is_match], shared[is_match]
            begins = run_starts(row)
            for begin, end in pairwise([*begins.tolist(), row.size]):
                at = int(row[begin])
                document = documents[at]
                member = Member(document.id, document.name, sizes[at])
                words = spans(unnumbered([document.text])[0], index.scheme.profile)
                for number, count in zip(text[begin:end].tolist(), shared[begin:end].tolist(), strict=True):
                    passage_spans = self._longest_passage(number, words, hashes[at])
                    passage = " ".join(document.text[slice(*passage_spans[1])][: 4 * _SHOWN].split())[:_SHOWN]
                    yield ReferenceMatch(number, at, member, count, passage_spans, passage)

    def _longest_passage(
        self, text: int, words: npt.NDArray[np.int64], hashes: _Hashes
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        first_a, first_b, run = self.index.longest_run(text, hashes)
        last = run + self.index.scheme.shingle_size - 2
        spans_a = self.index.word_spans(text)
        return (
            (int(spans_a[first_a, 0]), int(spans_a[first_a + last, 1])),
            (int(words[first_b, 0]), int(words[first_b + last, 1])),
        )


def item_of(text: Member) -> str:
    """Return the id of a reference text's item, or its own id if it is not part of an item.

    >>> item_of(Member("tests.jsonl:17#answer", "answer", 12))
    'tests.jsonl:17'
    """
    return text.id.removesuffix(f"#{text.name}")


@dataclass(frozen=True, slots=True)
class ReferenceItem:
    """An item of the reference, such as a question with its answer, and the documents that contain a part of it.

    `documents` has, for each document, its pairs: a part of the item (A) and the document (B).
    """

    id: str
    documents: list[list[Pair]]


class ReferenceMatches:
    """Documents that contain reference texts.

    Args:
        on_repeated: Called with each repeated id; the last document with an id counts.

    Attributes:
        too_short: Documents with fewer words than a shingle.
        items_in_all: Number of items in the reference.
        too_short_references: Reference texts with fewer words than a shingle.
    """

    def __init__(
        self,
        index: ReferenceIndex,
        options: DuplicatesOptions,
        match_batches: Iterable[MatchBatch],
        on_repeated: Callable[[str], None],
    ) -> None:
        self.options = options
        self.references = [
            Member(document.id, document.name, size, stays=True)
            for document, size in zip(index.documents, index.sizes.tolist(), strict=True)
        ]
        self.items_in_all = len(set(map(item_of, self.references)))
        self.too_short_references = int(np.count_nonzero(index.sizes == 0))
        matches, is_too_short = list[ReferenceMatch](), [np.empty(0, np.bool_)]
        # Some systems cannot delete a mapped file before the process ends.
        with (
            tempfile.TemporaryDirectory(prefix="whorl-reference-", ignore_cleanup_errors=True) as folder,
            closing(IdFile(Path(folder) / "ids")) as ids,
        ):
            for batch in match_batches:
                require_time()
                matches += [replace(match, row=len(ids) + match.row) for match in batch.matches]
                is_too_short.append(batch.is_too_short)
                for document_id in ids.add(batch.ids):
                    on_repeated(document_id)
                report_progress("reading", len(ids))
            for document_id in ids.repeated():
                on_repeated(document_id)
            is_last = ids.is_last()
        self._matches = [match for match in matches if is_last[match.row]]
        self.documents = int(np.count_nonzero(is_last))
        self.too_short = int(np.count_nonzero(np.concatenate(is_too_short) & is_last))

    def pairs(self) -> Iterator[Pair]:
        """Yield each pair of a reference text (A) and a document that contains it (B), the largest share first."""
        return map(self._pair, sorted(self._matches, key=self._order))

    def items(self) -> list[ReferenceItem]:
        """Return the reference items with a part in a document; the item in most documents comes first."""
        items: dict[str, dict[str, list[Pair]]] = {}
        for pair in self.pairs():
            items.setdefault(item_of(pair.a), {}).setdefault(pair.b.id, []).append(pair)
        together = [ReferenceItem(item, list(documents.values())) for item, documents in items.items()]
        return sorted(together, key=lambda item: -len(item.documents))

    def clusters(self) -> Iterator[Cluster]:
        """Yield each reference text with its documents; the text in most documents comes first."""
        return self._clusters(self._matches)

    def clusters_by_document(self) -> Iterator[Cluster]:
        """Yield the clusters, with each document only in the cluster of the reference text with the largest share."""
        best: dict[str, ReferenceMatch] = {}
        for match in sorted(self._matches, key=self._order):
            best.setdefault(match.document.id, match)
        return self._clusters(best.values())

    def _clusters(self, matches: Iterable[ReferenceMatch]) -> Iterator[Cluster]:
        groups: dict[int, list[ReferenceMatch]] = {}
        for match in sorted(matches, key=self._order):
            groups.setdefault(match.text, []).append(match)
        for text, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
            member = self.references[text]
            itself = Pair.of_counts(member, member, member.size, member.size, member.size)
            yield Cluster((itself, *map(self._pair, group)))

    def _pair(self, match: ReferenceMatch) -> Pair:
        pair = Pair.of_counts(self.references[match.text], match.document, match.shared, match.shared, match.shared)
        return pair._replace(spans=match.spans, passage=match.passage)

    def _order(self, match: ReferenceMatch) -> tuple[float, int]:
        return -self._pair(match).shares.by(self.options.pairs.metric), match.text


def find_in_documents(
    documents: Iterable[Document],
    reference: Iterable[Document],
    options: PairOptions | DuplicatesOperation | DuplicatesOptions = _BY_DEFAULT,
    *,
    on_repeated: Callable[[str], None] = lambda document_id: None,
) -> ReferenceMatches:
    """Find the documents that contain reference texts.

    Args:
        documents: Documents, read lazily and once. If documents share an id, the last one counts.
        reference: Reference texts, all held in memory.
        options: Options of the search, by default a containment of 80 % in shingles of 8 words. Only metric, threshold,
            scheme, `within` and `workers` apply.

    Raises:
        ParameterError: The options are for other searches.
        StoreError: A process has died, or a temporary file cannot be written.

    >>> item = Document("item", "one two three four five six seven eight nine")
    >>> row = Document("row", "So: ONE two-three four, five six seven eight nine!")
    >>> [(pair.a.id, pair.b.id, pair.shares.a_in_b) for pair in find_in_documents([row], [item]).pairs()]
    [('item', 'row', 1.0)]
    """
    options = DuplicatesOptions.of(options)
    if options.state is not None or options.common is not None or options.scheme.unit != "words":
        raise ParameterError("a search for reference texts has no state and no boilerplate, and compares words")
    index = ReferenceIndex(list(reference), options.scheme, options.within)
    search = _ReferenceSearch(index, options)
    method = start_method(documents) if options.workers > 1 else ""
    if method:
        match_batches = map_in_processes(documents, search, options.scheme, options.workers, method)
    else:
        match_batches = search(documents)
    return ReferenceMatches(index, options, match_batches, on_repeated)
