"""Documents of the conformance tests: families of near-duplicates, and unusual documents."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from whorl.model import Document

_STEMS = ["lorem", "ipsum", "dolor", "amet", "elit", "sed", "tempor", "magna", "aliqua", "enim", "minim", "quis"]
#: Large enough that unrelated texts share no shingle by chance.
VOCABULARY = [f"{stem}{number}" for number in range(60) for stem in _STEMS]
#: Ids that break careless quoting; each is the id of a document in the collection.
ODD_IDS = [
    "my_doc_1",
    'say "hi", \\now',
    "a:b/c,d;e",
    "{!lucene}*:*",
    "😀 *? (x) [y] ^2 ~3",
    "workspace://SpacesStore/12345678-1234-1234-1234-123456789abc",
    "0f9e8d7c-6b5a-4948-8776-655443322110",
    "4711",
]


#: UUID of a document that has another id.
NODE = "aaaabbbb-cccc-4ddd-8eee-ffff00001111"


def documents() -> list[Document]:
    """Return about 150 documents, the same ones at every call."""
    chance = random.Random(2024)
    made = []
    for family, length in enumerate([8, 15, 40, 120, 400, 900, 3000] * 2):
        original = chance.choices(VOCABULARY, k=length)
        for member, changed in enumerate([0.0, 0.02, 0.1, 0.3, 0.6]):
            words = [chance.choice(VOCABULARY) if chance.random() < changed else word for word in original]
            made.append(_document(f"f{family}-{member}", words, chance))
        made.append(_document(f"f{family}-half", original[: length // 2], chance))
        made.append(_document(f"f{family}-twice", original + original[::-1], chance))
    made += [_document(f"words-{length}", VOCABULARY[:length], chance) for length in range(7)]
    base = chance.choices(VOCABULARY, k=50)
    for number, odd in enumerate(ODD_IDS):
        made.append(_document(odd, [*base, *VOCABULARY[number * 5 : number * 5 + 10]], chance))
    made.append(
        Document(
            "a node",
            " ".join(base),
            properties={"DBID": 4242, "LID": f"workspace://SpacesStore/{NODE}", "big": 1e20, "small": 1e-05},
        )
    )
    made.append(
        Document("scripts", "Ünïcode ﬁsh STRASSE straße Привет мир как дела сегодня hello ελληνικά κείμενο εδώ " * 3)
    )
    made.append(Document("controls", "one two\0three four\x1ffive six \u200bseven eight nine ten \ufffe eleven", "nul"))
    return made


def _typed(name: str) -> dict[str, Any]:
    """Return property values of every type; some documents have none, and `mixed` is a number or a text."""
    chance = random.Random(name)
    moment = datetime(2019, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randrange(4 * 365 * 86_400))
    whole: dict[str, Any] = {
        "pages": chance.choice([-3, 0, 1, 2, 10, 120, 2**53 + 1]),
        "price": chance.choice([0.5, 9.99, 10, 10.0, -2.5, 1e6]),
        "created": chance.choice(
            [f"{moment:%Y-%m-%d}", f"{moment:%Y-%m-%dT%H:%M:%SZ}", f"{moment:%Y-%m-%dT%H:%M:%S}.5Z"]
        ),
        "final": chance.random() < 0.5,
        "code": chance.choice(["A-17", "A-18", "B 2", "a-17", "Übung", "ab*c", "x/y [1] \\", "zoo.pdf"]),
        "mixed": chance.choice([7, 8.5, "seven", "7 dwarfs", "2020-05-05"]),
        "notes": chance.sample(["first note here", "second note", "a third one", "note"], k=2),
    }
    return {field: value for field, value in whole.items() if chance.random() < 0.8} | {"score": len(name)}


def _document(name: str, words: list[str], chance: random.Random) -> Document:
    return Document(
        name,
        " ".join(words),
        name=f"{chance.choice(['Annual', 'Monthly'])} report {len(words)}",
        properties={
            "type": chance.choice(["pdf", "html", "text"]),
            "year": chance.choice([2021, 2022, 2023]),
            "tags": chance.sample(["draft", "final", "to do", "Draft copy"], k=2),
            **_typed(name),
        },
    )
