"""Random clauses on fields of every type from a fixed seed, single and nested."""

from __future__ import annotations

import random

from tests.conformance.collection import VOCABULARY

_NAME = ["name", "cm:name", "cm_name", "{http://www.alfresco.org/model/content/1.0}name"]
_SOMETIMES = ["pages", "mixed", "code", "created", "final", "notes", "content"]
_DATES = ["2019", "2020", "2020-07", "2021-02-03", "2022-01-01T00:00:00Z", "2020-05-05", "NOW", "NOW-4YEARS"]


def _word(chance: random.Random) -> str:
    return chance.choice(VOCABULARY[:90])


def _pair(chance: random.Random) -> list[str]:
    """Return two words that are likely to be near each other: often two from the beginning of a text, in order."""
    at = chance.randrange(5)
    near = [VOCABULARY[at], VOCABULARY[at + chance.randint(1, 2)]]
    return near if chance.random() < 0.5 else [_word(chance), _word(chance)]


def _words(chance: random.Random) -> str:
    first, second = _pair(chance)
    field = chance.choice(["", "", "content:", "TEXT:", "cm:content:", "d:content:"])
    simple = [
        f"{field}{first}",
        f'{field}"{second} {first}"~{chance.choice([1, 2, 3, 7, 30, 200])}',
        f'{field}"{first} {second}"~{chance.choice([1, 4, 12])}',
        f'{field}"{first} {second} {_word(chance)}"~{chance.choice([4, 40, 300])}',
        f'{field}"{first} {first}"~{chance.choice([3, 60])}',
        f"{field}({first} *({chance.choice([0, 1, 5, 50])}) {second})" if field else f"{first} * {second}",
        f"{field}{first[:-1]}*",
        f"{field}*{first[2:]}",
        f"{field}{first[:2]}?{first[3:]}",
        f"{field}?{first[1:4]}*",
        f'{field}"{first[:-1]}* {second}"',
        f'{field}"{first} {second[:3]}*"',
        f"{field}{first}~{chance.choice(['0.8', '0.85', '0.9'])}",
        f"{field}{first[1:]}{first[0]}~0.8",
        f"={field}{first}",
        f"~{field}{first}",
    ]
    return chance.choice(simple)


def _names(chance: random.Random) -> str:
    name = chance.choice(_NAME)
    size = chance.choice([8, 40, 120, 900, 999])
    return chance.choice(
        [
            f"{name}:annual",
            f'={name}:"Annual report {size}"',
            f'={name}:"annual report {size}"',
            f'{name}:"report annual"~{chance.choice([2, 1])}',
            f'{name}:"{size} annual"~{chance.choice([3, 4])}',
            f"{name}:*report*",
            f"={name}:Annual*",
            f"{name}:?nnual",
            f"~{name}:ann*",
            f"{name}:reprot~0.6",
            f"{name}:montly~0.8",
            f'{name}:["Annual report 2" TO "Annual report 5"]',
            f'{name}:["B" TO "Monthly report 3">',
            f"{name}:*",
            f'{chance.choice(["EXISTS", "ISNULL"])}:"{name}"',
        ]
    )


def _ends(chance: random.Random, ends: list[str]) -> str:
    low, high = sorted(chance.sample([*ends, "*", "MIN", "MAX"], 2), key=_order)
    return f"{chance.choice('[<')}{low} TO {high}{chance.choice(']>')}"


def _order(end: str) -> tuple[int, float, str]:
    if end in ("*", "MIN", "MAX"):
        return 0, 0.0, end
    try:
        return 1, float(end), end
    except ValueError:
        return 1, 0.0, end


def _typed(chance: random.Random) -> str:
    return chance.choice(
        [
            f"pages:{chance.choice(['10', '-3', '0', '9007199254740993', '5', '120.0'])}",
            f"pages:{_ends(chance, ['-3', '0', '1.5', '2', '10', '119', '1e20'])}",
            "pages:1..10",
            f"price:{chance.choice(['10', '9.99', '-2.5', '1e6', '7'])}",
            f"price:{_ends(chance, ['-2.5', '0', '9.5', '10', '10.5', '1000000'])}",
            f'created:"{chance.choice(_DATES[:6])}"',
            _dates(chance),
            _dates(chance),
            f"final:{chance.choice(['true', 'false', 'TRUE'])}",
            f"mixed:{chance.choice(['7', '8.5', 'seven', 'dwarfs', '2020', '05'])}",
            f"mixed:{_ends(chance, ['6', '7', '8.5', '9'])}",
            f'=mixed:"{chance.choice(["7 dwarfs", "seven", "7"])}"',
            f"mixed:{chance.choice(['sev*', '7*', '*s', '2020*', '2020-05-*', '2019*'])}",
        ]
    )


def _dates(chance: random.Random) -> str:
    low, high = sorted(chance.sample(range(len(_DATES) - 2), 2), key=lambda at: _DATES[at])
    opened, closed = chance.choice("[<"), chance.choice("]>")
    return chance.choice(
        [
            f'cm:created:{opened}"{_DATES[low]}" TO "{_DATES[high]}"{closed}',
            f"created:{opened}{_DATES[low][:10]} TO {_DATES[high][:10]}{closed}",
            f"created:{opened}NOW-{chance.choice([3, 20])}YEARS TO NOW{closed}",
            f"created:{opened}{_DATES[low][:4]} TO MAX]",
        ]
    )


def _keyword(chance: random.Random) -> str:
    return chance.choice(
        [
            f'=code:"{chance.choice(["A-17", "a-17", "B 2", "Übung", "ab", "zoo.pdf"])}"',
            f'code:"{chance.choice(["A 17", "übung", "b", "x y"])}"',
            "code:A-1*",
            "=code:A-1?",
            "=code:*b*",
            "=code:?b?ng",
            "code:zoo*",
            '=code:"x/y [1] \\\\\\\\"',
            "=code:ab\\*c",
            f"code:{_ends(chance, ['A', 'B', 'a', 'Ü', 'z'])}",
            f"tags:{chance.choice(['draft', 'dr*', 'cop?'])}",
            f'=tags:"{chance.choice(["draft", "Draft copy", "to do", "copy"])}"',
            f'notes:"here {chance.choice(["second", "note", "a"])}"~{chance.choice([99, 100, 101, 150])}',
            f"notes:(first *({chance.choice([1, 100, 101, 102])}) note)",
            f"{chance.choice(['EXISTS', 'ISNULL', 'ISNOTNULL', 'ISUNSET'])}:{chance.choice(_SOMETIMES)}",
            f'{chance.choice(["EXISTS", "ISNULL"])}:"cm:{chance.choice(["price", "name"])}"',
            f"{chance.choice(['pages', 'price', 'created', 'code', 'final'])}:*",
            f"id:f{chance.randrange(14)}-?",
            f"ID:f{chance.randrange(14)}-half",
            "id:[f1 TO f3]",
        ]
    )


def clause(chance: random.Random) -> str:
    """Return one clause without operators, sometimes boosted."""
    made = chance.choice([_words, _words, _names, _typed, _keyword])(chance)
    return f"({made})^{chance.choice(['2', '0.5'])}" if chance.random() < 0.1 else made


def query(chance: random.Random) -> str:
    """Return a clause or a nested query."""
    clauses = [clause(chance) for _ in range(chance.randint(1, 3))]
    if len(clauses) == 1:
        return clauses[0]
    form = chance.randrange(5)
    if form == 0:
        return " AND ".join(clauses)
    if form == 1:
        return " OR ".join(clauses)
    if form == 2:
        return f"{clauses[0]} AND NOT ({clauses[1]})"
    if form == 3:
        return f"FINGERPRINT:f{chance.randrange(14)}-0_10 AND ({' OR '.join(clauses)})"
    return f"+({clauses[0]}) -({clauses[1]}) FINGERPRINT:f{chance.randrange(14)}-1"


def generated(count: int) -> list[str]:
    """Return this many distinct queries; half of them are single clauses."""
    chance = random.Random(11)
    made: dict[str, None] = {}
    while len(made) < count:
        made[clause(chance) if len(made) % 2 else query(chance)] = None
    return list(made)
