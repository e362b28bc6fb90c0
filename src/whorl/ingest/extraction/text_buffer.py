"""Text buffer with a maximum length."""

from __future__ import annotations

from whorl.errors import DocumentError


class TextBuffer:
    """Collects the text of a document during extraction.

    Args:
        most: Maximum number of characters.
    """

    def __init__(self, most: int) -> None:
        self._most, self._length = most, 0
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        """Append a piece.

        Raises:
            DocumentError: The text exceeds the maximum length.
        """
        self._length += len(piece)
        if self._length > self._most:
            raise DocumentError(f"its text is longer than {self._most:,} characters (setting max_file_text)")
        self._pieces.append(piece)

    def __str__(self) -> str:
        return "".join(self._pieces)
