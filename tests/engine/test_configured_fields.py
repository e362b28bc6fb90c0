"""The choice of the field with the texts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from whorl.engine.configured_fields import (
    FieldNames,
    TextField,
    describe_fields,
    guess_name_field,
    init_command,
    rank_text_fields,
    require_named_text,
)
from whorl.errors import SchemaError


def test_a_listing_names_the_first() -> None:
    """
    A description names at most ten fields.
    """
    assert (
        describe_fields([TextField("body", 1), TextField("title", 1234)])
        == "body (1 document), title (1,234 documents)"
    )
    assert describe_fields([TextField(f"f{number}", 2) for number in range(12)]).endswith("f9 (2 documents) and 2 more")


def test_the_field_with_most_text_comes_first() -> None:
    """
    Titles of all documents come after longer texts of most documents; a single field needs no sample. Empty fields and
    the name field are left out.
    """
    samples = {"heading": ["A lease", "Minutes"], "body": ["This lease is made between", "Present"], "note": []}
    counts = {"note": 3, "heading": 4, "body": 3, "empty": 0, "name": 4}

    def count(names: Sequence[str]) -> list[int]:
        return [counts[name] for name in names]

    fields = rank_text_fields(counts, FieldNames(), count, samples.__getitem__)
    assert fields == [TextField("body", 3), TextField("heading", 4), TextField("note", 3)]
    single = rank_text_fields(["note"], FieldNames(), count, lambda name: pytest.fail(f"read {name}"))
    assert single == [TextField("note", 3)]


TEXTS = [TextField("title", 9), TextField("body", 5), TextField("summary", 5)]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (FieldNames(), "init --content title"),
        (FieldNames(name="title"), "init --content body"),
        (FieldNames(content="summary"), "init"),
    ],
)
def test_the_command_names_the_field_of_most_texts(names: FieldNames, expected: str) -> None:
    """
    Init proposes the field with most texts unless the configured field has texts; never the field of the names.
    """
    assert init_command("init", TEXTS, names) == expected
    assert init_command("init", [], names) == "init"


@pytest.mark.parametrize(
    ("fields", "names", "expected"),
    [
        ({"title", "body", "filename"}, FieldNames(), "init --content body --name title"),
        ({"body", "cm:name"}, FieldNames(), "init --content body --name cm:name"),
        ({"title", "body"}, FieldNames(content="body"), "init --name title"),
        ({"title", "body"}, FieldNames(content="title"), "init"),
        ({"title", "body"}, FieldNames(content="body", name="heading"), "init --name title"),
        ({"title", "body", "name"}, FieldNames(content="body"), "init"),
        ({"title"}, FieldNames(), "init --content title"),
        ({"body", "subject"}, FieldNames(content="body"), "init"),
    ],
)
def test_the_command_names_a_usual_field_of_names(fields: set[str], names: FieldNames, expected: str) -> None:
    """
    If the configured name field is missing, init proposes a usual one. A title is used as text only if no other field
    has texts.
    """
    texts = [TextField(field, 9 - len(field)) for field in ("title", "body") if field in fields]
    assert init_command("init", texts, names, guess_name_field(names, fields.__contains__)) == expected


def test_texts_in_another_field_have_to_be_named() -> None:
    """
    The message lists the fields and gives both commands.
    """
    require_named_text("url", "init", [], FieldNames())
    require_named_text("url", "init", TEXTS, FieldNames(content="body"))
    with pytest.raises(SchemaError, match=r"body \(5 documents\).*: init --content title, or --content content to"):
        require_named_text("url", "init", TEXTS, FieldNames())
