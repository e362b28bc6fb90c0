"""Random damage to bytes and JSON values, for tests of malformed requests and files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

#: Values of an unexpected type, size or form.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 0.0, -0.0, 1e308, float("nan"), float("inf"),
    1e-320, "", " ", "\x00", "\ud800", "\udfff\ud800", "é" * 300, "0", "1e999", "NaN", "null", "*", "[* TO *]",
    "a" * 5000, [], [[]], [None], {}, {"": ""}, {"a": {"b": {"c": []}}}, [[[[[[[[[[]]]]]]]]]], "{!lucene}*:*",
    "../../etc/passwd",
    "𐀀", "\u202e", "\r\n", "2012-02-30", "NOW/DAY", "-", "FINGERPRINT:a_1", 'a" OR "b', "\\", "%", "_", "__proto__",
)  # fmt: skip


def bytes_changed(raw: bytes, chance: random.Random, others: tuple[bytes, ...] = ()) -> bytes:
    """Return the bytes after one to four random changes: cut, doubled, a bit flipped, overwritten, or mixed with
    others.
    """
    changed = bytearray(raw)
    for _ in range(chance.randint(1, 4)):
        at, to = sorted(chance.randint(0, len(changed)) for _ in range(2))
        to = min(to, at + 64)
        match chance.randrange(7):
            case 0:
                del changed[at:to]
            case 1:
                changed[at:at] = changed[at:to]
            case 2 if len(changed) > at:
                changed[at] ^= 1 << chance.randrange(8)
            case 3:
                changed[at:to] = chance.randbytes(to - at)
            case 4:
                del changed[at:]
            case 5:
                changed[at:at] = chance.choice(
                    (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b'"', b"<", b"&", b"]]>")
                )
            case _ if others:
                other = chance.choice(others)
                begin = chance.randint(0, len(other))
                changed[at:to] = other[begin : begin + chance.randint(0, 200)]
    return bytes(changed)


def value_changed(value: Any, chance: random.Random) -> Any:
    """Return a JSON value with one to three random changes: a part, at any depth, is deleted, replaced or repeated."""
    changed = json.loads(json.dumps(value))
    places: list[Callable[[], tuple[Any, Any]]] = []

    def visit(container: Any) -> None:
        for key in container if isinstance(container, dict) else range(len(container)):
            places.append(lambda key=key: (container, key))  # type: ignore[misc]
            if isinstance(container[key], dict | list):
                visit(container[key])

    if not isinstance(changed, dict | list) or chance.random() < 0.02:
        return chance.choice(ODD_VALUES)
    visit(changed)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if not places:
            break
        container, key = chance.choice(places)()
        if isinstance(container, list):
            if key >= len(container):
                continue
            match chance.randrange(3):
                case 0:
                    container[key] = chance.choice(ODD_VALUES)
                case 1:
                    del container[key]
                case _:
                    container.extend([container[key]] * chance.choice((1, 3, 200)))
        elif key in container:
            match chance.randrange(4):
                case 0 | 1:
                    container[key] = chance.choice(ODD_VALUES)
                case 2:
                    del container[key]
                case _:
                    container[chance.choice(("", key.upper(), key + "s", "constructor", "\ud800"))] = container[key]
    return changed


def write_record(place: Path, lines: Iterable[str]) -> None:
    printed = "\n".join(lines)
    place.write_text(printed + "\n", encoding="utf-8")
    print(printed)
