"""Random queries over the collection from a fixed seed: every construct, single and nested."""

from __future__ import annotations

import random

from tests.conformance.collection import ODD_IDS, VOCABULARY

_NUMBERS = ["_1", "_5", "_20", "_33.3", "_0.5", "_70", "_90", "_100", "_50.5"]
_PROBABILITIES = ["_50", "_80", "_0.9", "_99", "_100"]


def fingerprint(chance: random.Random) -> str:
    """Return one FINGERPRINT, nearly always of an existing document."""
    reference = chance.choice(
        [
            f"f{chance.randrange(14)}-{chance.choice([0, 1, 2, 3, 4, 'half', 'twice'])}",
            f"words-{chance.randrange(7)}",
            chance.choice(["scripts", "controls", "not-there"]),
        ]
    )
    numbers = chance.choice(["", chance.choice(_NUMBERS), chance.choice(_NUMBERS) + chance.choice(_PROBABILITIES)])
    if chance.random() < 0.15:
        escaped = chance.choice(ODD_IDS).replace("\\", "\\\\").replace('"', '\\"').replace("_", "\\_")
        return f'FINGERPRINT:"{escaped}"{numbers}'
    return f"FINGERPRINT:{reference}{numbers}"


def clause(chance: random.Random) -> str:
    """Return a clause without operators."""
    word = chance.choice(VOCABULARY[:80])
    simple = [
        fingerprint(chance),
        fingerprint(chance),
        f"type:{chance.choice(['pdf', 'HTML', 'text', 'odt'])}",
        f"year:{chance.choice([2021, 2023, 1999])}",
        f"tags:{chance.choice(['draft', 'final', 'copy'])}",
        chance.choice(['tags:"to do"', 'tags:"draft copy"', 'tags:"copy final"', 'name:"report 8"', "name:annual"]),
        word,
        f'"{word} {chance.choice(VOCABULARY[:80])}"',
        f'"{" ".join(VOCABULARY[:3])}"',
        "*:*",
        f"id:f{chance.randrange(14)}-0",
        "STRASSE",
    ]
    chosen = chance.choice(simple)
    return f"{chosen}^{chance.choice(['2', '0.5', '3'])}" if chance.random() < 0.1 else chosen


def query(chance: random.Random, depth: int = 2) -> str:
    """Return a query, nested at most `depth` deep."""
    if depth == 0 or chance.random() < 0.25:
        return clause(chance)
    parts = [query(chance, depth - 1) for _ in range(chance.randint(2, 3))]
    form = chance.randrange(6)
    if form == 0:
        return "(" + " AND ".join(parts) + ")"
    if form == 1:
        return "(" + " OR ".join(parts) + ")"
    if form == 2:
        return "(" + " ".join(parts) + ")"
    if form == 3:
        return f"({parts[0]} AND NOT {parts[1]})"
    if form == 4:
        return "(" + " ".join(chance.choice(["+", "-", ""]) + part for part in parts) + ")"
    return f"(NOT {parts[0]})"


def generated(count: int) -> list[str]:
    """Return this many distinct queries; a third of them are single fingerprints."""
    chance = random.Random(7)
    made: dict[str, None] = {}
    while len(made) < count:
        made[fingerprint(chance) if len(made) % 3 == 0 else query(chance)] = None
    return list(made)
