"""Documents of many kinds of words and fields, and plans that search among them."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from tests.engine.embedded.store_process import SCHEME
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import cut_bands
from whorl.model import Document
from whorl.query.plan.nodes import (
    Bool,
    BoundNode,
    MatchAll,
    Nothing,
    SharedBands,
    SharedTokens,
    Words,
)

WORDS = ["red", "green", "blue", "Straße", "東京", "don't", "3.14", "naïve", "x_y", "\N{HANGUL FILLER}"]
FIELDS = ["kind", "with space", "emoji 😀", "DBID", "ns:name", "name2"]


def documents(seed: int, count: int) -> list[Document]:
    """Return documents of random words and fields, some of the same id."""
    chosen = random.Random(seed)

    def text(most: int) -> str:
        return " ".join(chosen.choices(WORDS, k=chosen.randrange(most + 1)))

    return [
        Document(
            f"{chosen.choice('abÄ😀￿')}{number}",
            text(30),
            text(3),
            {field: [text(4) for _ in range(chosen.randrange(3))] for field in chosen.sample(FIELDS, 2)},
        )
        for number in range(count)
    ]


def texts() -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)


def plans() -> st.SearchStrategy[BoundNode]:
    """Return plans over the documents. Sums of their weights are exact in floating point."""
    weights = st.sampled_from([0.0, 0.0, 0.5, 1.0, 1.0, 3.0])
    signed = [signature for document in documents(1, 150) if len(signature := sign(document.text, SCHEME))]
    sources = st.integers(0, len(signed) - 1).map(lambda number: signed[number].integers)
    fields = st.sampled_from([None, None, "content", "text", "TEXT", "name", "id", "unheard of", *FIELDS])
    leaves = st.one_of(
        st.builds(MatchAll, weights),
        st.builds(Nothing, st.just("no")),
        st.builds(Words, texts(), fields, weights),
        st.builds(Words, st.sampled_from([d.id for d in documents(1, 150)]), st.just("id"), weights),
        st.builds(SharedTokens, st.just("s"), sources, st.integers(0, 17), weights),
        st.builds(SharedBands, st.just("s"), st.builds(cut_bands, sources, st.integers(1, 16)), weights),
    )

    def bools(children: st.SearchStrategy[BoundNode]) -> st.SearchStrategy[BoundNode]:
        several = st.lists(children, max_size=3).map(tuple)
        return st.builds(Bool, several, several, several, st.integers(0, 3))

    return st.recursive(leaves, bools, max_leaves=12)
