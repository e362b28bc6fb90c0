"""The choice of the field with the texts."""

from __future__ import annotations

import pytest

from whorl.engine.server_fields import FieldNames, TextField, init_command, listing, require_named_text
from whorl.errors import SchemaError


def test_a_listing_names_the_first() -> None:
    """
    A listing names at most ten fields.
    """
    assert listing([TextField("body", 1), TextField("title", 1234)]) == "body (1 document), title (1,234 documents)"
    assert listing([TextField(f"f{number}", 2) for number in range(12)]).endswith("f9 (2 documents) and 2 more")


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
    Unless the configured field has texts; the field of the names is left out.
    """
    assert init_command("init", TEXTS, names) == expected
    assert init_command("init", [], names) == "init"


def test_texts_in_another_field_have_to_be_named() -> None:
    """
    The message lists the fields and gives both commands.
    """
    require_named_text("url", "init", [], FieldNames())
    require_named_text("url", "init", TEXTS, FieldNames(content="body"))
    with pytest.raises(SchemaError, match=r"body \(5 documents\).*: init --content title, or --content content to"):
        require_named_text("url", "init", TEXTS, FieldNames())
