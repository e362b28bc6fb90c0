"""Finds documents that contain reference texts, for example rows of training data that contain items of a test set.

The search reads the documents once, looks up the hash of each shingle in an inverted index of the reference, and counts
the shingles that a document shares with each reference text. It takes linear time; the memory holds the index, the
matches, and 16 bytes for the id of each document. Only words are compared: line breaks, case, punctuation and the
numbers of list items have no effect.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from whorl.arrays_and_batches import (
    HashLookup,
    batches,
    chunks,
    find_sorted,
    indices_of_ranges,
    run_starts,
    sort_distinct,
    zip_with_results,
)
from whorl.duplicates.options import DuplicatesOptions, PairOptions
from whorl.duplicates.results import Cluster, Member, Pair
from whorl.duplicates.sketch_arrays import Bools, Hashes, Numbers
from whorl.duplicates.sketch_store import IdFile
from whorl.duplicates.sketching import group_of
from whorl.duplicates.worker_pool import DOCUMENTS_AT_ONCE, checked_documents, map_in_processes, start_method
from whorl.errors import ParameterError
from whorl.fingerprint.fingerprint_texts import HashBatch, hash_in_batches, words_and_spans
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import fold_apostrophes
from whorl.model import Document
from whorl.operations import DuplicatesOperation
from whorl.request_context import report_progress, require_time

#: Number of shingle occurrences in reference texts to count at a time.
_COUNTED_AT_ONCE = 1 << 22
#: The search for the longest shared passage tries at most `_POSITIONS` positions of a shingle in a reference text, and
#: fewer for a long document, so that it compares only about `_TRIED_AT_ONCE` pairs of positions at a time.
_POSITIONS, _TRIED_AT_ONCE = 64, 1 << 20
_PASSAGE_CHARACTERS = 100
#: Line break, blanks, and the number or letter of a list item: `12.`, `3)`, `(a)`, `B.` Possessive quantifiers
#: make the search several times faster.
_NUMBERING = re.compile(r"\n[ \t]*+\(?+(?:[0-9]{1,3}+[.):]|[a-zA-Z][.)])(?=[ \t])")

_BY_DEFAULT = DuplicatesOperation(reference_only=True)


def normalize_texts(texts: Sequence[str]) -> list[str]:
    r"""Replace the numbers of list items by blanks, and fold apostrophes; texts keep their lengths.

    >>> normalize_texts(["1. one’s\n(b) two, 3. three", "four"])
    ["   one's\n    two, 3. three", 'four']
    """
    folded = (fold_apostrophes(f"\n{text}") for text in texts)
    return [_NUMBERING.sub(lambda number: "\n" + " " * (len(number[0]) - 1), text)[1:] for text in folded]


class ReferenceIndex:
    """Inverted index of reference texts: finds the texts that contain a shingle, and its positions in these texts.

    `sizes` has the number of distinct shingles of each text, `groups` its group (see `group_of`).
    """

    def __init__(self, documents: Sequence[Document], scheme: Scheme, within: str | None = None) -> None:
        self.documents, self.scheme = documents, scheme
        self.groups = np.array([group_of(document, within) for document in documents], np.object_)
        portions = map(normalize_texts, batches([document.text for document in documents], DOCUMENTS_AT_ONCE))
        together = list(hash_in_batches(portions, scheme, in_order=True))
        ordered = np.concatenate([np.empty(0, np.uint64), *(portion.hashes for portion in together)])
        counts = np.concatenate([np.empty(0, np.int64), *(portion.sizes for portion in together)])
        texts = np.repeat(np.arange(counts.size), counts)
        order = np.lexsort((texts, ordered))
        hashes, texts = ordered[order], texts[order]
        #: Position of each shingle among the shingles of its text. The array is sorted by hash and then by text, so the
        #: positions of a hash in a text are a range of the array.
        self._reference_positions = (order - np.cumsum(np.append(0, counts))[texts]).astype(np.int32)
        #: Starts and lengths of these ranges.
        self._position_starts = run_starts(hashes, texts)
        self._position_counts = np.diff(self._position_starts, append=texts.size)
        hashes, self._texts = hashes[self._position_starts], texts[self._position_starts]
        self.sizes = np.bincount(self._texts, minlength=counts.size)
        self.members = [
            Member(document.id, document.name, size, stays=True)
            for document, size in zip(documents, self.sizes.tolist(), strict=True)
        ]
        #: For each distinct hash, the start of the range of its texts in `_texts`.
        self._starts = run_starts(hashes)
        self._counts = np.diff(self._starts, append=hashes.size)
        distinct = hashes[self._starts]
        self._lookup = HashLookup(distinct)
        #: Hash index and text of each element of `_texts`, combined in one number; ascending.
        self._keys = np.repeat(np.arange(distinct.size), self._counts) * len(documents) + self._texts
        self._known_spans = dict[int, npt.NDArray[np.int64]]()

    def count_items(self) -> int:
        return len(set(map(item_of, self.members)))

    def count_too_short(self) -> int:
        """Return the number of texts with fewer words than a shingle."""
        return int(np.count_nonzero(self.sizes == 0))

    def look_up(self, hashes: Hashes) -> tuple[Numbers, Numbers]:
        """Find the hashes that the reference also has.

        Return two arrays with an element for each of these hashes: its index in `hashes`, and its number in the index.
        """
        return self._lookup.find(hashes)

    def count_shared(self, rows: Numbers, numbers: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
        """Yield the number of distinct hashes that documents share with each reference text.

        Args:
            rows: Document of each hash, ascending.
            numbers: Hash numbers from `look_up`, without repetitions within a document.

        Yields:
            Three arrays with one element per pair: document, reference text, number of shared hashes.
        """
        counts = self._counts[numbers]
        begins = run_starts(rows)
        weights = np.add.reduceat(counts, begins) if begins.size else counts
        ends = np.append(begins[1:], rows.size)
        for group in chunks(range(begins.size), lambda at: int(weights[at]), _COUNTED_AT_ONCE):
            require_time()
            own = slice(int(begins[group[0]]), int(ends[group[-1]]))
            texts = self._texts[indices_of_ranges(self._starts[numbers[own]], counts[own])]
            pairs, shared = np.unique(
                np.repeat(rows[own], counts[own]) * len(self.documents) + texts, return_counts=True
            )
            yield (*np.divmod(pairs, len(self.documents)), shared)

    def longest_runs(self, texts: Numbers, begins: Numbers, ends: Numbers, shared: tuple[Numbers, Numbers]) -> Numbers:
        """Find the longest run of consecutive shingles that the reference text and the document of each pair share.

        Args:
            texts: Reference text of each pair.
            begins, ends: For each pair, the range of its document in the arrays of `shared`.
            shared: Positions and hash numbers from `look_up`, for all shingles of a batch of documents.

        Returns:
            Array of shape (pairs, 3): position of the run's first shingle in the reference text, its position in the
                batch of documents, and the number of shingles. Ties go to the first run in the document.
        """
        runs = [np.empty((0, 3), np.int64)]
        counts = ends - begins
        for group in chunks(range(texts.size), lambda at: int(counts[at]) * _POSITIONS, _TRIED_AT_ONCE):
            require_time()
            own = slice(group[0], group[-1] + 1)
            hits = indices_of_ranges(begins[own], counts[own])
            pairs, (positions, numbers) = np.repeat(np.arange(len(group)), counts[own]), (part[hits] for part in shared)
            keys = numbers * len(self.documents) + texts[own][pairs]
            entries, is_there = find_sorted(self._keys, keys)
            pairs, positions, entries = pairs[is_there], positions[is_there], entries[is_there]
            tried = np.minimum(self._position_counts[entries], max(1, min(_POSITIONS, _TRIED_AT_ONCE // hits.size)))
            reference_positions = self._reference_positions[
                indices_of_ranges(self._position_starts[entries], tried)
            ].astype(np.int64)
            pairs, positions = np.repeat(pairs, tried), np.repeat(positions, tried)
            order = np.lexsort((positions, reference_positions - positions, pairs))
            pairs, positions, reference_positions = pairs[order], positions[order], reference_positions[order]
            # Within a run, both positions grow by one per element, so their difference is constant.
            starts = run_starts(pairs, reference_positions - positions, positions - np.arange(positions.size))
            lengths = np.diff(starts, append=positions.size)
            pairs, positions, reference_positions = pairs[starts], positions[starts], reference_positions[starts]
            order = np.lexsort((reference_positions, positions, -lengths, pairs))
            longest = order[run_starts(pairs[order])]
            runs.append(np.stack((reference_positions[longest], positions[longest], lengths[longest]), axis=1))
        return np.concatenate(runs)

    def word_spans(self, text: int) -> npt.NDArray[np.int64]:
        """Return the character range of each word of a reference text; the result is cached."""
        if text not in self._known_spans:
            self._known_spans[text] = words_and_spans(normalize_texts([self.documents[text].text])[0], self.scheme)[1]
        return self._known_spans[text]


#: A document that contains a reference text: index of the text, index of the document in its batch, and the pair of the
#: text (A) and the document (B).
Match: TypeAlias = tuple[int, int, Pair]
#: Ids of a batch of documents, a mask of the documents with fewer words than a shingle, and the matches.
_MatchBatch: TypeAlias = tuple[list[str], Bools, list[Match]]


def find_matches(
    index: ReferenceIndex, options: DuplicatesOptions, documents: Iterable[Document]
) -> Iterator[tuple[Sequence[Document], Numbers, list[Match]]]:
    """Yield batches of documents with the number of shingles of each document, and with the matches of the batch."""
    read = zip_with_results(
        batches(documents, DOCUMENTS_AT_ONCE),
        lambda ahead: hash_in_batches(
            (normalize_texts([document.text for document in batch]) for batch in ahead), options.scheme, in_order=True
        ),
    )
    for batch, together in read:
        yield batch, together.sizes, list(_matches_in_batch(index, options, batch, together))


def _find_matches(
    index: ReferenceIndex, options: DuplicatesOptions, documents: Iterable[Document]
) -> Iterator[_MatchBatch]:
    for batch, sizes, matches in find_matches(index, options, documents):
        yield [document.id for document in batch], sizes == 0, matches


def _matches_in_batch(
    index: ReferenceIndex, options: DuplicatesOptions, documents: Sequence[Document], together: HashBatch
) -> Iterator[Match]:
    pairs = options.pairs
    ends = np.cumsum(together.sizes)
    shared_hashes = positions, numbers = index.look_up(together.hashes)
    rows = np.searchsorted(ends, positions, side="right")
    # Keep only the first of a document's equal hashes.
    order = np.lexsort((numbers, rows))
    firsts = order[run_starts(rows[order], numbers[order])]
    rows, numbers = rows[firsts], numbers[firsts]
    # A document has at least the shingles that it shares with the reference. This lower bound of its size excludes most
    # pairs, so only the remaining documents are counted.
    least_sizes = np.bincount(rows, minlength=len(documents))
    for row, text, shared in index.count_shared(rows, numbers):
        is_possible = shared >= pairs.least_overlap(index.sizes[text], least_sizes[row])
        if options.within is not None:
            own = np.array([group_of(document, options.within) for document in documents], np.object_)
            is_possible &= own[row] == index.groups[text]
        row, text, shared = row[is_possible], text[is_possible], shared[is_possible]
        sizes = {
            at: sort_distinct([together.hashes[ends[at] - together.sizes[at] : ends[at]]]).size
            for at in np.unique(row).tolist()
        }
        row_sizes = np.array([sizes[at] for at in row.tolist()], np.int64)
        is_match = shared >= pairs.least_overlap(index.sizes[text], row_sizes)
        row, text, shared = row[is_match], text[is_match], shared[is_match]
        starts = ends[row] - together.sizes[row]
        edges = np.searchsorted(positions, starts), np.searchsorted(positions, ends[row])
        runs = index.longest_runs(text, *edges, shared_hashes)
        runs[:, 1] -= starts
        matches, begins = np.column_stack((text, shared, runs)), run_starts(row)
        for begin, end in pairwise([*begins.tolist(), row.size]):
            at = int(row[begin])
            document = documents[at]
            member = Member(document.id, document.name, sizes[at])
            words = words_and_spans(normalize_texts([document.text])[0], index.scheme)[1]
            for number, count, first_a, first_b, run in matches[begin:end].tolist():
                # A run of `run` shingles has run + shingle_size - 1 words, and `last` is the offset of the last word.
                last = run + index.scheme.shingle_size - 2
                in_text, in_row = (
                    (int(spans[first, 0]), int(spans[first + last, 1]))
                    for spans, first in ((index.word_spans(number), first_a), (words, first_b))
                )
                passage = " ".join(document.text[slice(*in_row)][: 4 * _PASSAGE_CHARACTERS].split())
                pair = Pair.of_counts(index.members[number], member, count, count, count)
                pair = pair._replace(spans=(in_text, in_row), passage=passage[:_PASSAGE_CHARACTERS])
                yield number, at, pair


def item_of(text: Member) -> str:
    """Return the id of the reference row (item) that a text belongs to.

    A row has a text for each column, and perhaps one for all columns together.

    >>> item_of(Member("tests.jsonl:17#answer", "answer", 12))
    'tests.jsonl:17'
    """
    return text.id.removesuffix(f"#{text.name}")


@dataclass(frozen=True, slots=True)
class ReferenceItem:
    """A row of the reference, such as a question with its answer, and the documents that contain one of its texts.

    The texts of a row are the text of each column, and a text of all columns together.

    Attributes:
        id: Id of the row.
        documents: A list of pairs for each document. In each pair, A is a text of the row, and B is the document.
        size: Number of documents that contain a text of the row; `documents` may have only some of them.
    """

    id: str
    documents: list[list[Pair]]
    size: int


def group_by_item(pairs: Iterable[Pair]) -> list[ReferenceItem]:
    """Group pairs of reference texts (A) and documents (B) by item and document; the most frequent item comes first."""
    items: dict[str, dict[str, list[Pair]]] = {}
    for pair in pairs:
        items.setdefault(item_of(pair.a), {}).setdefault(pair.b.id, []).append(pair)
    together = [ReferenceItem(item, list(own.values()), len(own)) for item, own in items.items()]
    return sorted(together, key=lambda item: -item.size)


@dataclass(frozen=True, slots=True)
class ReferenceCounts:
    """Numbers for the report on a search for reference texts.

    Attributes:
        items, items_in_all: Items that documents contain, and items in the reference.
        containing, documents: Documents that contain an item, and documents in all.
        too_short: Documents with fewer words than a shingle.
        too_short_references: Reference texts with fewer words than a shingle.
    """

    items: int
    items_in_all: int
    containing: int
    documents: int
    too_short: int
    too_short_references: int


class ReferenceMatches:
    """Result of the search: the documents that contain reference texts, as pairs, as items or as clusters.

    Args:
        on_repeated: Called with each repeated id. If documents share an id, only the last document is used.

    Attributes:
        too_short: Documents with fewer words than a shingle.
        items_in_all: Number of items in the reference.
        too_short_references: Reference texts with fewer words than a shingle.
    """

    def __init__(
        self,
        index: ReferenceIndex,
        options: DuplicatesOptions,
        match_batches: Iterable[_MatchBatch],
        on_repeated: Callable[[str], None],
    ) -> None:
        self.references, self.items_in_all = index.members, index.count_items()
        self.too_short_references = index.count_too_short()
        matches, is_too_short = list[Match](), [np.empty(0, np.bool_)]
        # Ignore errors when deleting the folder: Windows cannot delete a mapped file before the process ends.
        with (
            tempfile.TemporaryDirectory(prefix="whorl-reference-", ignore_cleanup_errors=True) as folder,
            closing(IdFile(Path(folder) / "ids")) as ids,
        ):
            for batch_ids, is_batch_too_short, batch_matches in match_batches:
                require_time()
                for text, row, pair in batch_matches:
                    # Another process has copied A; replace it with the original object.
                    matches.append((text, len(ids) + row, pair._replace(a=self.references[text])))
                is_too_short.append(is_batch_too_short)
                for document_id in ids.add(batch_ids):
                    on_repeated(document_id)
                report_progress("reading", len(ids))
            for document_id in ids.repeated_ids():
                on_repeated(document_id)
            is_last = ids.is_last()
        #: Index of the reference text and pair of each match, in the order of `pairs`.
        self._matches = sorted(
            ((text, pair) for text, row, pair in matches if is_last[row]),
            key=lambda match: (-match[1].shares.measured_by(options.pairs.metric), match[0]),
        )
        self.documents = int(np.count_nonzero(is_last))
        self.too_short = int(np.count_nonzero(np.concatenate(is_too_short) & is_last))

    def pairs(self) -> Iterator[Pair]:
        """Yield each pair of a reference text (A) and a document that contains it (B), the largest share first."""
        return (pair for _, pair in self._matches)

    def items(self) -> list[ReferenceItem]:
        """Return the reference items that documents contain, at least in part; the most frequent item comes first."""
        return group_by_item(self.pairs())

    def clusters(self) -> Iterator[Cluster]:
        """Yield a cluster for each reference text that documents contain; the most frequent text comes first.

        A cluster has the text and the documents that contain it.
        """
        return self._clusters(self._matches)

    def clusters_by_document(self) -> Iterator[Cluster]:
        """Yield the same clusters, but each document is in one cluster only: that of its best matching text."""
        best: dict[str, tuple[int, Pair]] = {}
        for text, pair in self._matches:
            best.setdefault(pair.b.id, (text, pair))
        return self._clusters(best.values())

    def _clusters(self, matches: Iterable[tuple[int, Pair]]) -> Iterator[Cluster]:
        groups: dict[int, list[Pair]] = {}
        for text, pair in matches:
            groups.setdefault(text, []).append(pair)
        for text, pairs in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
            member = self.references[text]
            yield Cluster((Pair.of_counts(member, member, member.size, member.size, member.size), *pairs))


def count_matches(matches: ReferenceMatches) -> ReferenceCounts:
    items = {item_of(pair.a) for pair in matches.pairs()}
    containing = {pair.b.id for pair in matches.pairs()}
    too_short = matches.too_short, matches.too_short_references
    return ReferenceCounts(len(items), matches.items_in_all, len(containing), matches.documents, *too_short)


def index_reference(reference: Iterable[Document], options: DuplicatesOptions) -> ReferenceIndex:
    """Return an index of reference texts; raise ParameterError if an option does not apply to this search."""
    if options.state is not None or options.common is not None or options.scheme.unit != "words":
        raise ParameterError("a search for reference texts has no state and no boilerplate, and compares words")
    return ReferenceIndex(list(checked_documents(reference)), options.scheme, options.within)


def find_in_documents(
    documents: Iterable[Document],
    reference: Iterable[Document],
    options: PairOptions | DuplicatesOperation | DuplicatesOptions = _BY_DEFAULT,
    *,
    on_repeated: Callable[[str], None] = lambda document_id: None,
) -> ReferenceMatches:
    """Find the documents that contain reference texts.

    Args:
        documents: Documents, read lazily and once. If documents share an id, only the last document is used.
        reference: Reference texts, all held in memory.
        options: Options of the search, by default a containment of 80 % in shingles of 8 words. Only metric, threshold,
            scheme, `within` and `workers` apply.

    Raises:
        ParameterError: An option does not apply to this search.
        StoreError: A process has died, or a temporary file cannot be written.

    >>> item = Document("item", "one two three four five six seven eight nine")
    >>> row = Document("row", "So: ONE two-three four, five six seven eight nine!")
    >>> [(pair.a.id, pair.b.id, pair.shares.a_in_b) for pair in find_in_documents([row], [item]).pairs()]
    [('item', 'row', 1.0)]
    """
    options = DuplicatesOptions.from_options(options)
    documents, index = checked_documents(documents), index_reference(reference, options)
    search, method = partial(_find_matches, index, options), start_method(documents, options.workers)
    match_batches = map_in_processes(documents, search, options.scheme, options.workers, method)
    return ReferenceMatches(index, options, match_batches, on_repeated)
