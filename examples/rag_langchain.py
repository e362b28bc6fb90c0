"""LangChain transformer that drops near-copies of chunks, between the splitter and the vector store.

chunks = DropNearCopies(threshold=80).transform_documents(splitter.split_documents(documents))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import BaseDocumentTransformer, Document

from whorl import deduplicate


class DropNearCopies(BaseDocumentTransformer):
    """Keeps the first of several chunks with nearly the same text."""

    def __init__(self, threshold: float = 80) -> None:
        self.threshold = threshold

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        found = deduplicate([chunk.page_content for chunk in documents], threshold=self.threshold)
        return [chunk for chunk, stays in zip(documents, found.keep.tolist(), strict=True) if stays]
