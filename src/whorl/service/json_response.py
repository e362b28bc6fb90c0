"""JSON response of the HTTP service; encodes long lists in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson
from fastapi.responses import JSONResponse

from whorl.request_context import require_time

_ENCODED_AT_ONCE = 1_000


class Json(JSONResponse):
    """JSON response for any text; lone surrogates are escaped."""

    def render(self, content: Any) -> bytes:
        return b"".join(_pieces(content)) if _is_long(content) else _encode(content)


def _is_long(content: Any) -> bool:
    if isinstance(content, dict):
        return any(map(_is_long, content.values()))
    return isinstance(content, list) and len(content) > _ENCODED_AT_ONCE


def _pieces(content: Any) -> Iterator[bytes]:
    """Yield JSON in pieces: encoding a million items at once would block other threads."""
    if isinstance(content, dict) and content:
        opening = b"{"
        for name, value in content.items():
            yield opening + _encode(str(name)) + b":"
            yield from _pieces(value)
            opening = b","
        yield b"}"
    elif isinstance(content, list) and len(content) > _ENCODED_AT_ONCE:
        opening = b"["
        for begin in range(0, len(content), _ENCODED_AT_ONCE):
            require_time()
            yield opening + _encode(content[begin : begin + _ENCODED_AT_ONCE])[1:-1]
            opening = b","
        yield b"]"
    else:
        yield _encode(content)


def _encode(value: Any) -> bytes:
    # Use orjson if possible; it refuses integers of more than 64 bits and lone surrogates.
    with suppress(orjson.JSONEncodeError):
        return orjson.dumps(value)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
