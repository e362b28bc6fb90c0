"""LlamaIndex transformation that drops near-copies of chunks, after the splitter of an ingestion pipeline.

IngestionPipeline(transformations=[SentenceSplitter(), DropNearCopies(threshold=80)])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent

from whorl import deduplicate


class DropNearCopies(TransformComponent):
    """Keeps the first of several nodes with nearly the same text."""

    threshold: float = 80

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        # The metadata, such as file names, differ between copies.
        found = deduplicate([node.get_content(MetadataMode.NONE) for node in nodes], threshold=self.threshold)
        return [node for node, stays in zip(nodes, found.keep.tolist(), strict=True) if stays]
