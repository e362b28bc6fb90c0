"""JSON lines and tables as documents: valid ones, and errors for broken ones."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl import Document
from whorl.errors import DocumentError, ParameterError
from whorl.ingest import file_limits
from whorl.ingest.rows.row_format import Added, Decide, Row, RowColumns, UnreadRowsError
from whorl.ingest.rows.text_rows import JsonArrayFormat, JsonLinesFormat, TableFormat, json_document


def test_of_a_repeated_key_the_last_counts() -> None:
    """
    The last of repeated keys counts, as in all common JSON readers.
    """
    assert json_document(b'{"id": "a", "id": "b", "text": "x", "text": "y"}') == Document("b", "y")


def test_characters_that_no_store_holds_are_replaced_in_texts() -> None:
    """
    Half a surrogate pair becomes U+FFFD; a NUL is kept.
    """
    made = json_document(b'{"id": "a", "text": "\\ud800 \\u0000", "name": "\\udc00", "p": "\\ud83d"}')
    assert (made.text, made.name, made.properties["p"]) == ("\ufffd \0", "\ufffd", ("\ufffd",))


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63)])
def test_large_numbers_are_kept(number: int) -> None:
    """
    A 64-bit integer stays an integer and does not become a float.
    """
    assert json_document(f'{{"id": "a", "text": "t", "n": {number}}}'.encode()).properties["n"] == (number,)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_missing(number: str) -> None:
    """
    Exporters write NaN for a missing value, so the document has no such property.
    """
    assert json_document(f'{{"id": "a", "text": "t", "n": {number}, "m": 1}}'.encode()).properties == {"m": (1,)}


def test_numbers_of_thousands_of_digits_are_refused() -> None:
    """
    A number of over 1,000 digits is an error.
    """
    with pytest.raises(DocumentError, match="a number of over 1,000 digits"):
        json_document(f'{{"id": "a", "text": "t", "n": {int("7" * 4000)}}}'.encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "a", "text"', "this is not JSON"),
        (b"not json", "this is not JSON"),
        (b'{"id": "a", "text": "\xff"}', "not in UTF-8, as JSON is: byte 0xff at position 21"),
        (b'["a", "text"]', '"id" and "text"'),
        (b'"a"', '"id" and "text"'),
        (b'{"text": "no id"}', '"id" and "text"'),
        (b'{"id": "a"}', '"id" and "text"'),
        (b'{"id": null, "text": "t"}', "must be text"),
        (b'{"id": "a", "text": null}', "must be text"),
        (b'{"id": "a", "text": ["t"]}', "must be text"),
        (b'{"id": true, "text": "t"}', "must be text"),
        (b'{"id": 1.5, "text": "t"}', "must be text"),
        (b'{"id": "' + b"a" * 1001 + b'", "text": "t"}', "1 to 1000 characters"),
        (b'{"id": "a\\u0000b", "text": "t"}', "control characters"),
        (b'{"id": "a\\nb", "text": "t"}', "control characters"),
        (b'{"id": "\\ud800", "text": "t"}', "lone surrogates"),
        (b'{"id": "a", "text": "t", "p": {"": {"\\ud800": 1}}}', r"cannot be called 'p..\ud800'"),
        (b'{"id": "a", "text": "t", "MINHASH": "x"}', "cannot be called 'MINHASH'"),
        (b'{"id": "a", "text": "t", "": "x"}', "cannot be called ''"),
        (b'{"id": "a", "text": "t", "\\udc00": "x"}', r"cannot be called '\udc00'"),
        (b'{"id": 1' + b"0" * 5000 + b', "text": "t"}', "a whole number has more than 4,300 digits"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"id": "a", "text": "t", "p": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", ""),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else "",
)
def test_a_bad_line_costs_no_other(line: bytes, reason: str) -> None:
    """
    A bad line does not affect the lines before and after; the error names the cause, and is shorter than the line.
    """
    with pytest.raises(DocumentError) as raised:
        json_document(line)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 300
    lines = [b'{"id": "before", "text": "t"}', b"", line, b'{"id": "after", "text": "t"}']
    before, wrong, after = rows_of(b"\n".join(lines))
    assert [(row.number, row.values) for row in (before, after)] == [
        (1, {"id": "before", "text": "t"}),
        (4, {"id": "after", "text": "t"}),
    ]
    assert (wrong.number, wrong.place) == (3, "line 3")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_lines_of_another_encoding(encoding: str) -> None:
    """
    A file in another encoding causes one error that names it; a byte order mark of UTF-8 is ignored.
    """
    line = '{"id": "a", "text": "é"}\n'
    with pytest.raises(UnreadRowsError, match=f"JSON lines are UTF-8, and this is {encoding}"):
        rows_of(line.encode(encoding))
    assert [row[:3] for row in rows_of(line.encode("utf-8-sig"))] == [(1, "line", {"id": "a", "text": "é"})]


def test_a_line_without_end_is_one_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A line beyond the limit is not kept in memory, and the next one is read.
    """
    monkeypatch.setattr("whorl.ingest.rows.text_rows.MOST_BYTES", 40)
    long, after = rows_of(b'{"text": "' + b"x" * 1000 + b'"}\n{"text": "after"}\n')
    assert isinstance(long.values, DocumentError)
    assert "at most 40 bytes" in str(long.values)
    assert (after.number, after.values) == (2, {"text": "after"})
    with pytest.raises(UnreadRowsError, match="make JSON lines of it"):
        list(JsonArrayFormat().rows(io.BytesIO(b"[" + b"1, " * 40 + b"1]"), RowColumns()))


def test_remaining_lines_are_unchanged() -> None:
    """
    Kept lines are unchanged to the byte, but the last one gets a line end; columns are appended, and broken lines are
    dropped.
    """
    lines = b'{"id": 1,   "text":"\\u00e9", "meta": {"a": [1]}}\r\nbroken\n\n{"id": 2, "text": "two"}'
    assert rewritten(lines, lambda rows: [{} for _ in rows]) == (
        b'{"id": 1,   "text":"\\u00e9", "meta": {"a": [1]}}\r\n{"id": 2, "text": "two"}\n'
    )
    assert rewritten(lines, lambda rows: [{} if row.number == 4 else None for row in rows]).count(b"\n") == 1
    added = rewritten(lines, lambda rows: [{"text": str(row.number)} for row in rows], {"text": str}).splitlines()
    assert [json.loads(line) for line in added] == [
        {"id": 1, "text": "1", "meta": {"a": [1]}},
        {"id": 2, "text": "4"},
    ]


def test_an_array_stays_one() -> None:
    """
    An array of the kept objects is written.
    """
    out = io.BytesIO()
    array = io.BytesIO(b'[{"text": "a"}, 3, {"text": "b"}, {"text": "c"}]')
    JsonArrayFormat().rewrite(
        array,
        out,
        RowColumns(),
        lambda rows: [{"n": row.number} if row.number != 3 else None for row in rows],
        {"n": str},
    )
    assert json.loads(out.getvalue()) == [{"text": "a", "n": 1}, {"text": "c", "n": 4}]


def add_to_first(added: dict[str, float], rows: Sequence[Row]) -> list[dict[str, float]]:
    return [added, *({} for _ in rows[1:])]


def test_kept_objects_of_an_array_are_unchanged() -> None:
    """
    Kept objects keep the spelling of their numbers, and a name that occurs twice; columns are appended.
    """
    first, second = '{"n": 1.10, "large": 1e400, "n": -0, "text": "\\u00e9"', '{ "text":"two",\n  "zero": -0 }'
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        array = f" [{first}}}\n ,{second}]\n".encode(encoding)
        for added, end in ((dict[str, float](), "}"), ({"m": 0.5}, ', "m": 0.5}')):
            out = io.BytesIO()
            JsonArrayFormat().rewrite(io.BytesIO(array), out, RowColumns(), partial(add_to_first, added), {"m": float})
            assert out.getvalue().decode() == f"[\n{first}{end},\n{second}\n]\n"


@pytest.mark.parametrize("form", [JsonLinesFormat(), JsonArrayFormat()])
def test_a_new_text_leaves_the_other_members_unchanged(form: JsonLinesFormat | JsonArrayFormat) -> None:
    """
    Only the value of the text changes in the source of an object. If the name of the text occurs several times, the
    last value changes, because only this value is read.
    """
    first = '{"x": 1.10, "large": 1e400, "n": -0,"n":2 , "text" :"\\u00e9,\\"}", "deep": {"text": ["]"]}, "\\ud800": 1}'
    second = '{"text": "one", "te\\u0078t": "two","z": NaN}'
    separator, start, end = ("\n", "", "\n") if isinstance(form, JsonLinesFormat) else (",\n", "[\n", "\n]\n")
    source, out = io.BytesIO(f"{start}{first}{separator}{second}{end}".encode()), io.BytesIO()
    texts = iter(['new "text"\n', "\ud800"])
    form.rewrite(
        source, out, RowColumns(), lambda rows: [{"text": next(texts), "added": 1} for _ in rows], {"text": str}
    )
    expected = [
        first.replace('"\\u00e9,\\"}"', '"new \\"text\\"\\n"')[:-1] + ', "added": 1}',
        second.replace('"two"', '"\\ud800"')[:-1] + ', "added": 1}',
    ]
    assert out.getvalue().decode() == start + separator.join(expected) + end


def test_lone_surrogates_of_an_array_are_escaped() -> None:
    """
    A file in UTF-16 can have lone surrogates, but its copy in UTF-8 cannot.
    """
    out, array = io.BytesIO(), '[{"text": "a\ud800"}]'.encode("utf-16", "surrogatepass")
    JsonArrayFormat().rewrite(io.BytesIO(array), out, RowColumns(), lambda rows: [{} for _ in rows], {})
    assert out.getvalue() == b'[\n{"text": "a\\ud800"}\n]\n'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab]},[{ "\\', max_size=5) | st.floats(allow_nan=False),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text("]}a", max_size=2), values, max_size=3),
    max_leaves=10,
)


@given(
    st.lists(JSON, max_size=4),
    st.sampled_from([None, 0, 2]),
    st.integers(0, 60),
    st.sampled_from(["", ",", "]", "x", " "]),
)
def test_arrays_mean_what_they_mean_to_python(values: list[object], indent: int | None, at: int, added: str) -> None:
    """
    An array, also a damaged one, has the values of Python's parser, or the same error.
    """
    text = json.dumps([{}, *values], indent=indent)
    text = text[:at] + added + text[at:]
    expected: list[object] | str
    values_read: list[object] | str
    try:
        expected = [value if isinstance(value, dict) else None for value in json.loads(text)]
    except json.JSONDecodeError as error:
        expected = f"this is not JSON: {error}"
    try:
        rows = JsonArrayFormat().rows(io.BytesIO(text.encode()), RowColumns())
        values_read = [row.values if isinstance(row.values, dict) else None for row in rows]
    except UnreadRowsError as error:
        values_read = str(error)
    assert values_read == expected


def test_a_wrong_setting_is_not_a_problem_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A limit that cannot be read is an error of the setting, also when it is needed only for a large array.
    """
    monkeypatch.setattr(file_limits._Current, "limits", None)
    monkeypatch.setenv("WHORL_FILE_MEMORY_BYTES", "5")
    array = json.dumps([{"id": str(number), "text": "word " * 50} for number in range(8_000)]).encode()
    with pytest.raises(ParameterError, match="WHORL_FILE_MEMORY_BYTES must be"):
        [*JsonArrayFormat().rows(io.BytesIO(array), RowColumns())]


def rows_of(lines: bytes) -> list[Row]:
    return list(JsonLinesFormat().rows(io.BytesIO(lines), RowColumns()))


def rewritten(lines: bytes, decide: Decide, added: Added | None = None) -> bytes:
    out = io.BytesIO()
    JsonLinesFormat().rewrite(io.BytesIO(lines), out, RowColumns(), decide, added or {})
    return out.getvalue()


def test_added_members_leave_the_rest_of_a_line_unchanged() -> None:
    """
    Numbers keep their spelling even if a float cannot hold them, and a name that occurs twice stays.
    """
    line = b'{"id": "a", "n": 1.10, "large": 1e400, "exact": 0.1234567890123456789, "id": "b", "text": "x y" }'
    added = {"cluster": None, "similarity": 0.5}
    end = b', "cluster": null, "similarity": 0.5}\n'
    assert rewritten(b"\xef\xbb\xbf" + line + b" \r\n{}\n", lambda rows: [added for _ in rows]) == (
        line[:-2] + end.replace(b"\n", b"\r\n") + b"{" + end[2:]
    )


VALUES = st.text(max_size=5) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(-1e9, 1e9)


@pytest.mark.slow
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=10),
    st.text(),
    st.text(),
    st.dictionaries(st.sampled_from(["a", "b c", "ü"]), VALUES | st.lists(VALUES, max_size=3)),
)
def test_a_document_is_read_back_from_its_line(
    document_id: str, text: str, name: str, properties: dict[str, object]
) -> None:
    """
    Any document is read back from its line, escaped or not, with the types of its values.
    """
    row = {**properties, "id": document_id, "text": text, "name": name}
    wanted = Document(document_id, text, name, properties)  # type: ignore[arg-type]
    for is_escaped in (True, False):
        assert json_document(json.dumps(row, ensure_ascii=is_escaped).encode()) == wanted


LEAVES: st.SearchStrategy[object] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(codec=None), max_size=5)
)


def nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3))


ANYTHING = st.recursive(LEAVES, nested, max_leaves=8)


@given(st.dictionaries(st.text(st.characters(codec=None), max_size=3), ANYTHING, max_size=4), st.booleans())
def test_a_line_means_what_it_means_to_python(values: dict[str, object], is_ascii: bool) -> None:
    """
    Every line has the same meaning as in Python's json, including large numbers, lone surrogates and NaN.
    """
    line = json.dumps(values, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    (row,) = rows_of(line)
    # Compared as text, because NaN does not equal itself.
    assert repr(row.values) == repr(json.loads(line.decode("utf-8", "surrogatepass")))


@given(
    st.lists(st.sampled_from(["", "{", "ß" * 30, '{"text": "t"}', '{"text": "two\\nlines"}']), max_size=12),
    st.integers(1, 60),
)
def test_parts_of_a_file_have_all_its_rows(lines: list[str], size: int) -> None:
    """
    The parts of a file yield each row once, in order and with its number, for any cuts and with or without a final line
    feed.
    """
    for end in ("", "\n"):
        opened = io.BytesIO(("\n".join(lines) + end).encode())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("whorl.ingest.rows.text_rows._SPAN", size)
            spans = list(JsonLinesFormat().spans(opened, RowColumns()))
        parts = [row for span in spans for row in JsonLinesFormat().rows(opened, RowColumns(), span)]
        opened.seek(0)
        assert list(map(str, parts)) == list(map(str, JsonLinesFormat().rows(opened, RowColumns())))


def read(content: bytes) -> list[tuple[int, object]]:
    return [
        (row.number, str(row.values) if isinstance(row.values, DocumentError) else row.values)
        for row in TableFormat().rows(io.BytesIO(content), RowColumns())
    ]


def test_broken_rows_cost_no_others() -> None:
    """
    Rows with too few cells, invalid UTF-8 or a misplaced quote are errors with the number of their first line; other
    rows are read.
    """
    rows = read('id,text\n1,"öne\nand more"\n2\n\n3,'.encode() + b'\xff\n4,"a"b\n5,five\n')
    assert rows == [
        (2, {"id": "1", "text": "öne\nand more"}),
        (4, "this row has 1 cells, and the first line names 2 columns"),
        (6, "this row has bytes that are no UTF-8, in which the table begins"),
        (7, "this is not a row of the table: ',' expected after '\"'"),
        (8, {"id": "5", "text": "five"}),
    ]


def test_columns_of_numbers_hold_numbers() -> None:
    """
    A column whose first cells are numbers in JSON's notation holds numbers; ids, names and texts stay as written, and
    so do columns with leading zeros or other texts. Empty cells are missing values.
    """
    rows = read(b"id,name,text,n,price,zip,mixed\n1,2,3,5, 1.50,01067,7\n2,,,,-2e3,10115,\n3,,4,1x,,,n/a\n")
    assert [values for _, values in rows] == [
        {"id": "1", "name": "2", "text": "3", "n": "5", "price": 1.5, "zip": "01067", "mixed": "7"},
        {"id": "2", "name": "", "text": "", "price": -2000.0, "zip": "10115"},
        {"id": "3", "name": "", "text": "4", "n": "1x", "mixed": "n/a"},
    ]
    assert read(b"text,n\na,\x0c5\n")[0][1] == {"text": "a", "n": "\f5"}
    many = read(b"text,n\n" + b"a,5\n" * 5_000 + b"b,x\nc,18446744073709551616\n")
    assert [values["n"] for _, values in many if isinstance(values, dict)] == [*[5] * 5_000, "x", 2**64]


def test_columns_that_are_named_stay_as_written() -> None:
    """
    A reader of some columns, such as `whorl duplicates`, gets the texts of cells.
    """
    columns = RowColumns(properties=frozenset({"n"}))
    rows = [row.values for row in TableFormat().rows(io.BytesIO(b"text,n\na,05\nb,5\nc,\n"), columns)]
    assert rows == [{"text": "a", "n": "05"}, {"text": "b", "n": "5"}, {"text": "c", "n": ""}]


def test_an_unclosed_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An unclosed quote is an error, and its row is not kept in memory beyond the limit.
    """
    assert read(b'text\n"one\ntwo')[0][1] == "this is not a row of the table: unexpected end of data"
    monkeypatch.setattr("whorl.ingest.rows.text_rows.MOST_BYTES", 100)
    rows = read(b'text\n"one\n' + b"x" * 150 + b"\nfine\n")
    assert str(rows[0][1]) == "this row has more than 100 characters (setting max_file_text)"
    assert rows[-1][1] == {"text": "fine"}
    monkeypatch.undo()
    assert read(b"text\nfine\n") == [(2, {"text": "fine"})]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quotation_marks_in_tables_separated_by_tabs(end: str) -> None:
    """
    A mark at the beginning of a cell does not join rows that have all columns; a quoted cell can have two lines.
    """
    lines = [
        "id\ttext",
        '1\t"one',
        "2\ttwo",
        '3\tthree"',
        '4\t"four" and',
        '5\t"f""ive"',
        '6\t"six',
        'lines"',
        '7\t"x',
    ]
    rows = read(end.join(lines).encode())
    texts = ['"one', "two", 'three"', '"four" and', 'f"ive', f"six{end}lines", '"x']
    numbers = [2, 3, 4, 5, 6, 7, 9]
    expected = zip(numbers, texts, strict=True)
    assert rows == [(number, {"id": str(at), "text": text}) for at, (number, text) in enumerate(expected, 1)]
    out = io.BytesIO()
    source = io.BytesIO(end.join(lines).encode())
    TableFormat().rewrite(source, out, RowColumns(), lambda rows: [{} for _ in rows], {})
    assert [values for _, values in read(out.getvalue())] == [values for _, values in rows]
    commas = read(b'id,text\n1,"one\n2,two\n3,three"\n')
    assert commas == [(2, {"id": "1", "text": "one\n2,two\n3,three"})]


@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        # Tables without quoting.
        ('1\tsay "a" and b\tx "y"\n', 'say "a"', '1\tsay "a"\tx "y"\n'),
        ('1\t"He" said a\t5" disks\n', '"He" said', '1\t"He" said\t5" disks\n'),
        ("1;a b;c", "a", "1;a;c"),
        # Quoted cells stay quoted, and other cells stay unquoted.
        ('"1","a b","c"\r\n', "a", '"1","a","c"\r\n'),
        ('"1",a b,"say ""c"""\r\n', "a", '"1",a,"say ""c"""\r\n'),
        ('1,"a\r\nb, ""c""",d\r\n', 'a, "c"', '1,"a, ""c""",d\r\n'),
        ('1,"a\nb",d\n', "a\nc", '1,"a\nc",d\n'),
        # Without quotation marks, these rows would be read differently.
        ('1\tsay "a"\tb\n', '"a"', '1\t"""a"""\tb\n'),
        ('1\tsay "a\tb\n', '"a', '1\t"""a"\tb\n'),
    ],
)
def test_a_changed_text_is_written_like_its_table(row: str, text: str, expected: str) -> None:
    """
    A row with another text keeps its quotation marks and its line end, and is read with this text.
    """
    separator = next(mark for mark in "\t;," if mark in row)
    names = separator.join(["id", "text", "more"])
    table, out = f"{names}\n{row}".encode(), io.BytesIO()
    TableFormat().rewrite(io.BytesIO(table), out, RowColumns(), lambda rows: [{"text": text}], {"text": str})
    assert out.getvalue().decode() == f"{names}\n{expected}"
    ((_, before),) = read(table)
    assert isinstance(before, dict)
    assert read(out.getvalue()) == [(2, {**before, "text": text})]


@pytest.mark.parametrize(("separator", "end"), [(";", "\n"), (",", "\r\n"), ("^", "\n")])
def test_a_first_line_that_names_the_separator(separator: str, end: str) -> None:
    """
    The first line `sep=;`, which Excel reads and writes, is not a heading, and a copy keeps it.
    """
    table = end.join([f"sep={separator}", f"id{separator}text", f"1{separator}one", ""]).encode()
    assert read(table) == [(3, {"id": "1", "text": "one"})]
    out = io.BytesIO()
    TableFormat().rewrite(io.BytesIO(table), out, RowColumns(), lambda rows: [{} for _ in rows], {})
    assert out.getvalue() == table


@pytest.mark.parametrize("line", ['{"id": 1', '{"id": 1,', '{"id": 1, "text"', "["])
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_end_of_a_truncated_line_is_named(line: str, end: str) -> None:
    """
    The error names the character after the last one.
    """
    (row,) = JsonLinesFormat().rows(io.BytesIO((line + end).encode()), RowColumns())
    assert str(row.values).endswith(f", at character {len(line) + 1}")


def test_a_truncated_text_is_named_by_its_beginning() -> None:
    """
    The error for a line that ends within a text names the first character of the text.
    """
    (row,) = JsonLinesFormat().rows(io.BytesIO(b'{"id": 1, "text": "cut'), RowColumns())
    assert str(row.values) == "this is not JSON: Unterminated string, at character 19"


def test_columns_of_one_name_are_refused() -> None:
    """
    A table with two text columns is not read; columns that are not read may have any names.
    """
    for heading in (b"id,text,text", b"id,a,text,text", b"text,text,text"):
        with pytest.raises(UnreadRowsError, match="several columns are called 'text'; rename all but one"):
            read(heading)
    properties = io.BytesIO(b"text,a,a\none,1,2\n")
    with pytest.raises(UnreadRowsError, match="several columns are called 'a'; rename all but one"):
        list(TableFormat().rows(properties, RowColumns()))
    properties.seek(0)
    assert len(list(TableFormat().rows(properties, RowColumns(properties=frozenset())))) == 1
    assert len(read(b"id,text,,\n1,one,4,5\n")) == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_encodings(encoding: str, separator: str) -> None:
    """
    The separator is found in the first line, the encoding in the byte order mark.
    """
    content = f"id{separator}text{separator}a,b;c\r\n1{separator}ö{separator}2\r\n"
    if separator in ",;":
        content = content.replace("a,b;c", "z")
    rows = read(content.encode(encoding))
    assert [values for _, values in rows] == [{"id": "1", "text": "ö", "z" if separator in ",;" else "a,b;c": 2}]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "L'été dernier, le propriétaire a décidé d'augmenter le loyer “à la fin du mois d'août”."),
        ("cp1251", "Арендатор платит за квартиру каждый месяц и сообщает о повреждениях без задержки."),
        ("shift_jis", "賃借人は毎月家賃を前払いし、損害が生じた場合には速やかに報告するものとします。"),
    ],
)
def test_encodings_without_a_mark(encoding: str, text: str) -> None:
    """
    A table in another encoding is read and rewritten in this encoding, even if it is longer than the examined part.
    """
    lines = ["id;text", *(f"{number};{text}" for number in range(10_000))]
    content = "".join(f"{line}\r\n" for line in lines).encode(encoding)
    rows = read(content)
    assert len(rows) == 10_000
    assert {values["text"] for _, values in rows if isinstance(values, dict)} == {text}
    out = io.BytesIO()
    TableFormat().rewrite(io.BytesIO(content), out, RowColumns(), lambda rows: [{} for _ in rows], {})
    assert out.getvalue() == content


def test_a_table_that_begins_in_ascii() -> None:
    """
    If other characters only come after the examined bytes, the table is UTF-8, and other rows are refused.
    """
    ascii_rows = b"text\n" + b"only ASCII here\n" * 20_000
    assert read(ascii_rows + "größer\n".encode())[-1][1] == {"text": "größer"}
    assert read(ascii_rows + "größer\n".encode("cp1252"))[-1][1] == (
        "this row has bytes that are no UTF-8, in which the table begins"
    )


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2), max_size=5))
def test_cells_are_read_as_written(rows: list[list[str]]) -> None:
    """
    Cells with any text are read, and are the same after rewriting.
    """
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["id", "text"], *rows])
    content = out.getvalue().encode()
    assert [values for _, values in read(content)] == [dict(zip(("id", "text"), row, strict=True)) for row in rows]
    again = io.BytesIO()
    TableFormat().rewrite(io.BytesIO(content), again, RowColumns(), lambda rows: [{} for _ in rows], {})
    assert read(again.getvalue()) == read(content)
