"""Signatures from an index's own MinHash field, for an index without whorl's fields.

The tokens of documents come as term vectors. The tokens of a text come from whorl if it makes the same ones, otherwise
from the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.documents import text_in
from whorl.engine.opensearch.fields import ID, OWN, SourceNames
from whorl.engine.opensearch.foreign_minhash import TokenField, chosen, described_fields, fields_of, shown
from whorl.engine.opensearch.setup import described
from whorl.errors import EngineResponseError, SchemaError
from whorl.fingerprint.few import signature
from whorl.fingerprint.minhash.signature import Signature, from_distinct, smallest_in_buckets
from whorl.query.plan.fields import Fields
from whorl.query.plan.nodes import Kind

#: Documents per request.
_AT_ONCE = 200


def foreign_tokens(client: IndexClient, names: SourceNames) -> ForeignTokens | None:
    """Return the reader of an index's own MinHash tokens; None if it has whorl's fields or no such tokens.

    Raises:
        SchemaError: There are several token fields and none is configured, or whorl cannot read their tokens.
    """
    try:
        there = client.mapping(OWN)
        if there is None or described(there, ID):
            return None
        there, settings = client.mapping() or {}, client.settings()
    except (EngineResponseError, SchemaError) as error:
        # The name is an alias of several indexes, or the user may not read the mapping: searches still work in both
        # cases.
        if isinstance(error, SchemaError) or error.status == 403:
            return None
        raise
    field = chosen(described_fields(there, settings), names.minhash)
    return ForeignTokens(client, names, shown(client, field), fields_of(there)) if field else None


class ForeignTokens:
    """Signatures of documents and texts by a cluster's own MinHash tokens.

    Args:
        client: Client of the index.
        names: The index's names for the parts of a document.
        field: The token field.
        others: Names of all fields.
    """

    def __init__(self, client: IndexClient, names: SourceNames, field: TokenField, others: Iterable[str]) -> None:
        self._client, self._names, self.field = client, names, field
        self.scheme = field.scheme
        # A clause on these fields is refused when it is sent, with a more helpful message than that of an unknown
        # field.
        known = {name: {Kind.TEXT: name, Kind.KEYWORD: name} for name in others}
        self.fields = Fields({**known, "id": {Kind.KEYWORD: "id"}}, profile=field.scheme.profile)

    def sign(self, text: str) -> Signature:
        """Return the signature that a text would have in the index."""
        if self.field.is_ours:
            return signature(text, self.scheme, self.field.spelling)
        repeats = self._client.terms_of(text, self.field.place, self.field.name) if text else {}
        return self._recovered(repeats, order_matters=True)

    def signatures(self, wanted: Mapping[str, bool]) -> dict[str, Signature]:
        """Return the signatures of existing documents, by id.

        Args:
            wanted: Ids, each with whether the order of its tokens matters.
        """
        ids, found, unsure = list(wanted), dict[str, Signature](), dict[str, set[str]]()
        for at in range(0, len(ids), _AT_ONCE):
            for document_id, repeats in self._client.term_vectors(ids[at : at + _AT_ONCE], self.field.name).items():
                found[document_id] = self._recovered(repeats, order_matters=wanted[document_id])
                if not repeats or not found[document_id].is_exact:
                    unsure[document_id] = set(repeats)
        # If the index has lost tokens or kept none, the text may provide them, unless it has changed since it was
        # indexed.
        for document_id, text in self._texts(unsure).items():
            made = self.sign(text)
            if not unsure[document_id] or unsure[document_id] == set(made.tokens):
                found[document_id] = made
        return found

    def _recovered(self, repeats: Mapping[str, int], *, order_matters: bool) -> Signature:
        # Each value of a text has its own tokens; all values together have one fingerprint.
        smallest = smallest_in_buckets(repeats, self.scheme)
        has_several = len(smallest) < len(repeats)
        return from_distinct(
            dict.fromkeys(smallest, 1) if has_several else repeats,
            self.scheme,
            self.field.spelling,
            has_repeats=not has_several,
            order_matters=order_matters,
        )

    def _texts(self, ids: Collection[str]) -> dict[str, str]:
        found = self._client.documents(list(ids), [self._names.content])
        return {each: text for each, hit in found.items() if (text := text_in(hit.get("_source", {}), self._names))}
