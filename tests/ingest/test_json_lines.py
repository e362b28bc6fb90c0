"""Lines of JSON as documents: what a line may be, and what is said of one that is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import Document
from whorl.errors import DocumentError
from whorl.ingest.json_lines import documents_of_lines, json_document


def test_of_a_repeated_key_the_last_counts() -> None:
    """
    As in every JSON reader of wide use.
    """
    assert json_document(b'{"id": "a", "id": "b", "text": "x", "text": "y"}') == Document("b", "y")


def test_characters_that_no_store_holds_are_replaced_in_texts() -> None:
    """
    Half a surrogate pair becomes U+FFFD; a NUL is a character.
    """
    made = json_document(b'{"id": "a", "text": "\\ud800 \\u0000", "name": "\\udc00", "p": "\\ud83d"}')
    assert (made.text, made.name, made.properties["p"]) == ("\ufffd \0", "\ufffd", ("\ufffd",))


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_large_numbers_are_kept(number: int) -> None:
    """
    A whole number of 64 bits stays one; nothing turns it into a float.
    """
    assert json_document(f'{{"id": "a", "text": "t", "n": {number}}}'.encode()).properties["n"] == (number,)


def test_larger_numbers_are_refused() -> None:
    """
    What no engine can hold is named.
    """
    with pytest.raises(DocumentError, match="more than 64 bits"):
        json_document(f'{{"id": "a", "text": "t", "n": {int("7" * 4000)}}}'.encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "a", "text"', "this is not JSON"),
        (b"not json", "this is not JSON"),
        (b'{"id": "a", "text": "\xff"}', "utf-8"),
        (b'["a", "text"]', '"id" and "text"'),
        (b'"a"', '"id" and "text"'),
        (b'{"text": "no id"}', '"id" and "text"'),
        (b'{"id": "a"}', '"id" and "text"'),
        (b'{"id": null, "text": "t"}', "must be text"),
        (b'{"id": "a", "text": null}', "must be text"),
        (b'{"id": "a", "text": ["t"]}', "must be text"),
        (b'{"id": true, "text": "t"}', "must be text"),
        (b'{"id": 1.5, "text": "t"}', "must be text"),
        (b'{"id": NaN, "text": "t"}', "must be text"),
        (b'{"id": "", "text": "t"}', "1 to 1000 characters"),
        (b'{"id": "' + b"a" * 1001 + b'", "text": "t"}', "1 to 1000 characters"),
        (b'{"id": "a\\u0000b", "text": "t"}', "control characters"),
        (b'{"id": "a\\nb", "text": "t"}', "control characters"),
        (b'{"id": "\\ud800", "text": "t"}', "lone surrogates"),
        (b'{"id": "a", "text": "t", "p": {"q": 1}}', "property 'p' of document 'a'"),
        (b'{"id": "a", "text": "t", "p": [["q"]]}', "property 'p' of document 'a'"),
        (b'{"id": "a", "text": "t", "p": NaN}', "property 'p' of document 'a'"),
        (b'{"id": "a", "text": "t", "p": -Infinity}', "property 'p' of document 'a'"),
        (b'{"id": "a", "text": "t", "p": 1e999}', "property 'p' of document 'a'"),
        (b'{"id": "a", "text": "t", "MINHASH": "x"}', "cannot be called 'MINHASH'"),
        (b'{"id": "a", "text": "t", "": "x"}', "cannot be called ''"),
        (b'{"id": "a", "text": "t", "\\udc00": "x"}', r"cannot be called '\udc00'"),
        (b'{"id": 1' + b"0" * 5000 + b', "text": "t"}', "limit"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"id": "a", "text": "t", "p": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", ""),
    ],
    ids=lambda told: told[:40] if isinstance(told, bytes) else "",
)
def test_a_bad_line_costs_no_other(line: bytes, reason: str) -> None:
    """
    The lines before and after are documents; the error names the cause, and is not as long as the line.
    """
    lines = [b'{"id": "before", "text": "t"}', b"", line, b'{"id": "after", "text": "t"}']
    before, wrong, after = documents_of_lines(lines)
    assert (before, after) == ((1, Document("before", "t")), (4, Document("after", "t")))
    number, error = wrong
    assert number == 3
    assert isinstance(error, DocumentError)
    assert reason in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_lines_of_another_encoding(encoding: str) -> None:
    """
    One error for all of them, which names it; a mark of UTF-8 is none.
    """
    lines = '{"id": "a", "text": "é"}\n'.encode(encoding).splitlines(keepends=True)
    with pytest.raises(DocumentError, match=f"JSON lines are UTF-8, and this is {encoding}"):
        list(documents_of_lines(lines))
    marked = '{"id": "a", "text": "é"}\n'.encode("utf-8-sig")
    assert list(documents_of_lines([marked])) == [(1, Document("a", "é"))]


VALUES = st.text(max_size=5) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(-1e9, 1e9)


@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=10),
    st.text(),
    st.text(),
    st.dictionaries(st.sampled_from(["a", "b c", "ü"]), VALUES | st.lists(VALUES, max_size=3)),
)
def test_what_is_written_is_read(document_id: str, text: str, name: str, properties: dict[str, object]) -> None:
    """
    Any document comes back from its line, escaped or not, with the types of its values.
    """
    told = {**properties, "id": document_id, "text": text, "name": name}
    wanted = Document(document_id, text, name, properties)  # type: ignore[arg-type]
    for is_escaped in (True, False):
        assert json_document(json.dumps(told, ensure_ascii=is_escaped).encode()) == wanted
