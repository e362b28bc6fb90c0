"""Text of PDFs."""

from __future__ import annotations

from tests.made_files import pdf
from whorl.ingest.extraction.pdf import read
from whorl.ingest.extraction.text_buffer import TextBuffer


def test_a_word_parted_at_the_end_of_a_line_is_one() -> None:
    """
    A word hyphenated at the end of a line is joined; a hyphen within a line stays.
    """
    text = TextBuffer(1000)
    read(pdf("a well-known documen-\ntation of it"), text)
    assert str(text).split() == ["a", "well-known", "documentation", "of", "it"]
