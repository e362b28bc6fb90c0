"""Execution of bound plans: counts tokens or queries tantivy, reads the hits from the records, and sorts by values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import numpy as np
from tantivy import Query

from whorl.engine.embedded.clauses import Contents
from whorl.engine.embedded.counting import PASSAGES, best_page, is_countable, match_tokens, token_holders
from whorl.engine.embedded.documents import SCHEMA
from whorl.engine.embedded.folder import IndexBrokenError
from whorl.engine.embedded.index import InvertedIndex
from whorl.engine.embedded.queries import translate
from whorl.engine.embedded.records import Records
from whorl.engine.embedded.text_index import Found
from whorl.engine.protocol import Candidates, PassageHolders, Role, reference_meanings
from whorl.fingerprint.shingling import well_formed
from whorl.model import Document, Hit, Order, Page
from whorl.query.plan.nodes import BoundPlan

_PROPERTIES: Mapping[Role, str] = {"dbid": "DBID", "noderef": "LID"}
_Known = TypeVar("_Known")


class _Numbered(Protocol):
    @property
    def number(self) -> int: ...
    @property
    def id(self) -> str: ...


_Row = TypeVar("_Row", bound=_Numbered)


class Search:
    """Runs bound plans.

    Args:
        records: The records of the store.
        index: The index of the store; its IndexBrokenError means that it has to be rebuilt.
        profile: How texts are split into words.
        words: Splits a text into words.
    """

    def __init__(self, records: Records, index: InvertedIndex, profile: str, words: Callable[[str], list[str]]) -> None:
        self._records, self._index, self._profile, self._words = records, index, profile, words

    def page(self, plan: BoundPlan, start: int, rows: int, order: Sequence[Order]) -> Page:
        """Return a page of hits."""
        if order:
            # Fetch all hits: the index cannot sort by values.
            total, found, warnings = self._ids(plan)
            heads = self._records.heads([each for each, _ in found] if any(map(goes_by_value, order)) else [])
            known = {each: document for each, (document, _) in heads.items()}
            found = sort_hits(found, known, order)[start : start + rows]
            names = self._records.names([each for each, _ in found])
        elif is_countable(plan.root):
            total, counted = self._counted(plan, start, rows, lambda numbers: self._records.named("number", numbers))
            return Page(total, tuple(Hit(each.id, each.name, score) for each, score in counted), plan.warnings)
        else:
            total, found, warnings = self._matching(plan, start, rows)
            names = {each.id: each.name for each in self._records.named("id", [each for each, _ in found])}
        # A missing hit is being deleted at this moment.
        self.require_gone([each for each, _ in found if each not in names])
        hits = tuple(Hit(each, names[each], score) for each, score in found if each in names)
        return Page(total - len(found) + len(hits), hits, warnings)

    def candidates(self, plan: BoundPlan, start: int, rows: int) -> Candidates:
        """Return a page of hits with their sketches."""
        if is_countable(plan.root):
            total, some = self._counted(plan, start, rows, lambda numbers: self._records.candidates("number", numbers))
            hits = tuple((Hit(each.id, each.name, score), each.sketch) for each, score in some)
            return Candidates(total, hits, plan.warnings)
        total, found, warnings = self._matching(plan, start, rows)
        known = {each.id: each for each in self._records.candidates("id", [each for each, _ in found])}
        self.require_gone([each for each, _ in found if each not in known])
        hits = tuple((Hit(each, known[each].name, score), known[each].sketch) for each, score in found if each in known)
        return Candidates(total - len(found) + len(hits), hits, warnings)

    def holders(
        self, counts: Mapping[int, int], most: int, among: Collection[str], left_out: BoundPlan | None
    ) -> PassageHolders:
        """Implement `Engine.passage_holders`."""
        wanted = np.array(list(counts), np.int64)
        numbers, documents = token_holders(self._index.tokens(), PASSAGES, wanted)
        is_rare = np.array(list(counts.values()), np.int64) <= most
        further = [each.number for each in self._records.named("id", list(among))]
        gathered = np.union1d(documents[is_rare[numbers]], np.array(further, np.int64))
        known = {each.number: each.id for each in self._records.ids(gathered.tolist())}
        if left_out is not None and known:
            excluded = set(self.ids(left_out))
            known = {number: each for number, each in known.items() if each not in excluded}
        gathered = np.array(sorted(known), np.int64)
        is_known = np.isin(documents, gathered)
        owners = np.searchsorted(gathered, documents[is_known])
        return PassageHolders(tuple(known[number] for number in gathered.tolist()), owners, numbers[is_known])

    def ids(self, plan: BoundPlan) -> list[str]:
        """Return the ids of all documents that match."""
        return [each for each, _ in self._ids(plan)[1]]

    def _ids(self, plan: BoundPlan) -> tuple[int, list[Found], tuple[str, ...]]:
        """Return the number of matching documents, their ids and scores, and warnings."""
        every = self._records.count()
        if not is_countable(plan.root):
            return self._matching(plan, 0, every)
        total, counted = self._counted(plan, 0, every, self._records.ids)
        return total, [(each.id, score) for each, score in counted], plan.warnings

    def _counted(
        self, plan: BoundPlan, start: int, rows: int, read: Callable[[Sequence[int]], Iterable[_Row]]
    ) -> tuple[int, list[tuple[_Row, float]]]:
        """Return the number of documents that match a plan of tokens alone, and a page of them with their scores.

        Args:
            plan: The plan.
            start: Hits before the page.
            rows: Hits on the page.
            read: Reads documents by their numbers.
        """
        counted = match_tokens(plan.root, self._index.tokens())
        known: dict[int, _Row] = {}

        def ids(numbers: Sequence[int]) -> Mapping[int, str]:
            # Usually these are the page. If they are more, most need their ids only.
            if len(numbers) > rows:
                return {each.number: each.id for each in self._records.ids(numbers)}
            known.update((each.number, each) for each in read(numbers))
            return {number: each.id for number, each in known.items()}

        page = best_page(counted, start, rows, ids)
        ids([each.number for each in page if each.id and each.number not in known])
        missing = [each.number for each in page if each.number not in known]
        self.require_gone(missing)
        found = [(known[each.number], each.score) for each in page if each.number in known]
        return counted.numbers.size - len(missing), found

    def _matching(self, plan: BoundPlan, start: int, rows: int) -> tuple[int, list[Found], tuple[str, ...]]:
        """Return the number of documents that match any plan, ids and scores of a page of them, and warnings."""
        contents = Contents(self._index, self._records, self._words)
        translation = translate(plan, self._profile, contents)
        contents.require_time_for_all()
        total, found = self._index.matches(translation.query, start, rows, is_ranked=translation.is_ranked)
        return total, found, translation.warnings

    def named(
        self, references: Collection[str], known: Callable[[list[str]], Mapping[str, _Known]]
    ) -> Iterator[tuple[str, tuple[str, _Known]]]:
        """Yield the references that name a document, each with the document's id and data.

        Args:
            references: Distinct references.
            known: Reads the data of documents by id.
        """
        found = [(each, self._meant(each, known)) for each in references]
        self.require_gone([each for each, document in found if document is None])
        return ((reference, document) for reference, document in found if document is not None)

    def _meant(self, reference: str, known: Callable[[list[str]], Mapping[str, _Known]]) -> tuple[str, _Known] | None:
        if reference != well_formed(reference):
            return None
        for role, value in reference_meanings(reference):
            document_id = value if role == "key" else self._records.by_handle(_PROPERTIES[role], value)
            if document_id is not None and (found := known([document_id])):
                return document_id, found[document_id]
        return None

    def require_gone(self, missing: Sequence[str] | Sequence[int]) -> None:
        """Raise StoreError if the records lack documents of the index although the journal has no deletion of them.

        Args:
            missing: Ids or numbers of documents that the records lack.
        """
        reached = self._index.reached() if missing else None
        changed = None if reached is None else self._records.changed_since(reached[0])
        if changed is None:
            return
        lost = set(missing) - set(changed) - set(changed.values())
        ids = [each for each in lost if isinstance(each, str) and each == well_formed(each)]
        with suppress(IndexBrokenError):
            _, known = self._index.matches(Query.term_set_query(SCHEMA, "id", ids), 0, len(ids), is_ranked=False)
            for each in [*(each for each in lost if isinstance(each, int)), *(each for each, _ in known)]:
                self._records.refuse(f"document {each!r} is not where it was")


def sort_hits(
    found: Sequence[tuple[str, float]], documents: Mapping[str, Document], order: Sequence[Order]
) -> list[tuple[str, float]]:
    """Return hits sorted by the keys of an order, ties by id.

    Args:
        found: The hits, as pairs of id and score.
        documents: Documents by id; a hit without a document has no values.
        order: The keys, the primary one first.
    """
    hits = sorted(found)
    # Sorting is stable, so the primary key is the last one sorted by.
    for key in reversed(order):
        value = _reader(documents, key)
        present = [(value(hit), hit) for hit in hits]
        absent = [hit for worth, hit in present if worth is None]
        present = [(worth, hit) for worth, hit in present if worth is not None]
        present.sort(key=lambda pair: pair[0], reverse=not key.is_ascending)
        hits = [hit for _, hit in present] + absent
    return hits


def goes_by_value(key: Order) -> bool:
    """Check whether a sort key needs documents; scores and ids do not."""
    return key.field is not None and not key.is_by_id


def _reader(documents: Mapping[str, Document], key: Order) -> Callable[[tuple[str, float]], Any]:
    """Return a function from a hit to its sort value, None for a hit without one."""
    if key.field is None:
        return lambda hit: hit[1]
    if key.is_by_id:
        return lambda hit: hit[0]
    extreme = min if key.is_ascending else max

    def value(hit: tuple[str, float]) -> Any:
        document = documents.get(hit[0])
        wholes = document.wholes() if document else []
        values = ([each for name, kind, each in wholes if (kind, name) == place] for place in key.places)
        return next((extreme(present) for present in values if present), None)

    return value
