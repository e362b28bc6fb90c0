"""The limit on the length of an extracted text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whorl.errors import DocumentError
from whorl.ingest.extraction.text_buffer import TextBuffer


@given(st.lists(st.text(max_size=5), max_size=8), st.integers(0, 30))
def test_a_text_is_its_pieces_or_too_long(pieces: list[str], most: int) -> None:
    """
    Pieces are joined up to the maximum length; beyond it the error names the setting.
    """
    text = TextBuffer(most)

    def add_all() -> None:
        for piece in pieces:
            text.add(piece)

    if sum(map(len, pieces)) > most:
        with pytest.raises(DocumentError, match=f"longer than {most} characters .setting max_file_text."):
            add_all()
    else:
        add_all()
        assert str(text) == "".join(pieces)
