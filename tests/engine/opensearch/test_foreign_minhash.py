"""MinHash fields that a cluster fills: detection, scheme, and the findings of check."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.engine.opensearch.foreign import ANALYSIS, FINGERPRINT, WORDS, filled
from whorl import Store, open_store
from whorl.engine.findings import Level
from whorl.engine.opensearch import foreign_minhash as min_hash
from whorl.engine.opensearch.client import IndexClient
from whorl.engine.opensearch.doctor import check
from whorl.engine.opensearch.engine import OpenSearchEngine
from whorl.engine.opensearch.fields import SourceNames
from whorl.engine.opensearch.foreign_minhash import chosen, described_fields, shown
from whorl.errors import SchemaError
from whorl.fingerprint.minhash.codec import Spelling
from whorl.fingerprint.scheme import Scheme


@pytest.mark.usefixtures("seen")
def test_what_the_tokens_are(foreign: IndexClient) -> None:
    """
    The scheme follows the mapping, unless probing shows that the cluster ignores its options.
    """
    settings = foreign.settings()
    there = {"properties": {name: {"type": "text", "analyzer": name} for name in ANALYSIS["analyzer"]}}
    (fingerprint, unrotated, plain) = described_fields(there, settings)
    assert (fingerprint.scheme, plain.scheme) == (Scheme(), Scheme(shingle_size=1))
    assert not unrotated.rotation
    assert unrotated.scheme == Scheme(bucket_count=64)
    (field,) = described_fields(foreign.mapping() or {}, settings)
    found = shown(foreign, field)
    assert (field.name, field.place) == ("content.fingerprint", "content")
    assert (found.scheme, found.spelling, found.is_ours) == (Scheme(), Spelling.UNITS_8, True)
    assert shown(foreign, replace(field, bucket_count=100)).scheme == Scheme()
    with pytest.raises(SchemaError, match="makes 511 tokens of 8 units of a long text, where its filter says 1,534"):
        shown(foreign, replace(field, hash_count=3))
    with pytest.raises(SchemaError, match="of a kind that whorl does not read: bucket count is 1 to 65536, got 0"):
        shown(foreign, replace(field, bucket_count=0))


def test_tokens_without_a_source(other_url: str) -> None:
    """
    With term vectors, no source is needed, and check reports that fingerprints can be searched.
    """
    for vectors, level in (("yes", Level.NOTE), ("no", Level.ERROR)):
        with filled(
            other_url, {"content": {**FINGERPRINT, "term_vector": vectors}}, _source={"enabled": False}
        ) as client:
            assert {each.code: each.level for each in check(client, SourceNames())}["no-source"] is level
            client.raw.indices.delete(index=client.index)


def test_one_of_several_fields(foreign: IndexClient) -> None:
    """
    One of several token fields must be configured.
    """
    foreign.add_fields({"second": FINGERPRINT})
    with (
        open_store(foreign.shown) as store,
        pytest.raises(SchemaError, match=r"'content\.fingerprint' and 'second' .*"),
    ):
        store.search("FINGERPRINT:d0")
    found = described_fields(foreign.mapping() or {}, foreign.settings())
    assert (chosen(found, "second") or found[0]).name == "second"
    with Store(OpenSearchEngine(foreign, SourceNames(minhash="content.fingerprint"))) as store:
        assert store.search("FINGERPRINT:d0").hits[0].id == "d0"
        assert {each.code: each.level for each in check(foreign, SourceNames())}["own-tokens"] is Level.ERROR


def test_what_check_says(foreign: IndexClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Check reports that FINGERPRINT works, and its token scheme.
    """
    found = {finding.code: finding for finding in check(foreign, SourceNames())}
    assert "minhash1-icu74-w5-b512" in found["own-tokens"].message
    assert {code: each.level for code, each in found.items()} == {
        "own-tokens": Level.OK, "other-words": Level.WARNING, "match-any": Level.WARNING, "missing-fields": Level.NOTE,
        "kept-twice": Level.NOTE, "version": Level.NOTE,
    }  # fmt: skip
    monkeypatch.setattr(min_hash, "PROBE", " ".join(WORDS[:40]))
    assert "other-words" not in {finding.code for finding in check(foreign, SourceNames())}
    foreign.add_fields({"second": {"type": "text", "analyzer": "unrotated"}})
    assert "no-rotation" in {finding.code for finding in check(foreign, SourceNames(minhash="second"))}
