"""Haystack component that drops near-copies of chunks, between the splitter and the writer.

pipeline.add_component("near_copies", DropNearCopies(threshold=80))
pipeline.connect("splitter.documents", "near_copies.documents")
pipeline.connect("near_copies.documents", "writer.documents")
"""

from haystack import Document, component

from whorl import deduplicate


@component
class DropNearCopies:
    """Keeps the first of several documents with nearly the same text."""

    def __init__(self, threshold: float = 80) -> None:
        self.threshold = threshold

    @component.output_types(documents=list[Document], removed=int)
    def run(self, documents: list[Document]) -> dict[str, object]:
        """Return the remaining documents, and the number of dropped ones."""
        found = deduplicate([document.content for document in documents], threshold=self.threshold)
        staying = [document for document, stays in zip(documents, found.keep.tolist(), strict=True) if stays]
        return {"documents": staying, "removed": len(documents) - len(staying)}
