"""Foreign index with a MinHash field, and none of whorl's fields."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from whorl.engine.opensearch.client import IndexClient

WORDS = [f"w{number}" for number in range(600)]
#: Plain words, split in the same way by all analyses: a long text, parts of it, another one, and some short texts.
TEXTS = {
    **{f"d{number}": " ".join(WORDS[number * 40 :]) for number in range(8)},
    "other": " ".join(f"v{number}" for number in range(300)),
    "short": "one two three four five six seven eight",
    "copy": "one two three four five six seven eight",
    "none": "one two",
}
ANALYSIS: dict[str, Any] = {
    "filter": {
        "fives": {"type": "shingle", "min_shingle_size": 5, "max_shingle_size": 5, "output_unigrams": False},
        "hashes": {"type": "min_hash", "hash_count": 1, "bucket_count": 512, "hash_set_size": 1},
        "few": {"type": "min_hash", "bucket_count": 64, "with_rotation": False},
        "half": {"type": "truncate", "length": 4},
    },
    "analyzer": {
        "fingerprint": {"tokenizer": "standard", "filter": ["lowercase", "fives", "hashes"]},
        "unrotated": {"tokenizer": "standard", "filter": ["lowercase", "fives", "few", "half"]},
        "plain": {"tokenizer": "standard", "filter": ["lowercase", "min_hash"]},
    },
}
FINGERPRINT = {"type": "text", "analyzer": "fingerprint"}
BESIDE = {"content": {"type": "text", "fields": {"fingerprint": FINGERPRINT}}, "name": {"type": "keyword"}}


@contextlib.contextmanager
def filled(url: str, properties: dict[str, Any], **mappings: Any) -> Iterator[IndexClient]:
    """Create the foreign index, with all texts."""
    client = IndexClient(url)
    settings = {"index.number_of_shards": 2, "analysis": ANALYSIS}
    client.create({"settings": settings, "mappings": {"properties": properties, **mappings}})
    assert client.bulk([({"index": {"_id": name}}, {"content": text}) for name, text in TEXTS.items()]) == []
    client.refresh()
    yield client
    client.close()
