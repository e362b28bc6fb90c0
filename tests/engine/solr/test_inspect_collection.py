"""Collections set up by others: search results are the same wherever the tokens are read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests

from tests import solr_runtime
from tests.plain import full_minima, plain_minima
from whorl import Store
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.check_collection import compare_sample
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.inspect_collection import TokenSource
from whorl.errors import SchemaError
from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding, write_tokens
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.words.tokenizer import tokens

LONG = [f"word{number % 700}{'x' * (number // 700)}" for number in range(1500)]
TEXTS = {
    "1234": " ".join(LONG),
    "1235": " ".join([*LONG[:900], *(f"other{number}" for number in range(600))]),
    "1236": "the quick brown fox jumps over the lazy dog",
    "1237": "the quick brown fox jumps over the lazy cat and the dog",
    "1238": "too short",
}
STRINGS = {"indexed": True, "multiValued": True, "type": "string"}
#: By field: its definition, the expected token source, and the encoding of its tokens.
VARIANTS = {
    "alfresco": ({**STRINGS, "stored": True, "docValues": False}, TokenSource.STORED, TokenEncoding.HEX),
    "hex_values": ({**STRINGS, "stored": False, "docValues": True}, TokenSource.DOC_VALUES, TokenEncoding.HEX),
    "short_values": ({**STRINGS, "stored": False, "docValues": True}, TokenSource.DOC_VALUES, TokenEncoding.UNITS_4),
    "short_stored": ({**STRINGS, "stored": True, "docValues": False}, TokenSource.STORED, TokenEncoding.UNITS_4),
    "whole": (
        {"type": "whole_min_hash", "termVectors": True, "omitTermFreqAndPositions": True},
        TokenSource.TERM_VECTORS,
        TokenEncoding.UNITS_8,
    ),
    "no_rotation": (
        {"type": "still_min_hash", "termVectors": True, "omitTermFreqAndPositions": True},
        TokenSource.TERM_VECTORS,
        TokenEncoding.UNITS_4,
    ),
    "text_only": ({"type": "whole_min_hash", "stored": False}, TokenSource.TEXT, TokenEncoding.UNITS_8),
}


def whole_type(name: str, rotation: str) -> dict[str, object]:
    words = [{"class": "solr.ICUNormalizer2FilterFactory", "form": "nfkc_cf", "mode": "compose"}]
    shingle = {
        "class": "solr.ShingleFilterFactory", "minShingleSize": "5", "maxShingleSize": "5",
        "outputUnigrams": "false", "outputUnigramsIfNoShingles": "false", "tokenSeparator": " ",
    }  # fmt: skip
    minhash = {"class": "solr.MinHashFilterFactory", "bucketCount": "512", "withRotation": rotation}
    cut = [{"class": "solr.TruncateTokenFilterFactory", "prefixLength": "4"}] if rotation == "false" else []
    tokenizer = {"class": "solr.ICUTokenizerFactory"}
    return {
        "name": name, "class": "solr.TextField",
        "indexAnalyzer": {"tokenizer": tokenizer, "filters": [*words, shingle, minhash, *cut]},
        "queryAnalyzer": {"tokenizer": {"class": "solr.KeywordTokenizerFactory"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def collection_url(solr_cloud_url: str) -> Iterator[str]:
    """A collection of two shards with a field for each variant, and Alfresco's DBID and LID."""
    base_url = solr_cloud_url.rpartition("/")[0]
    url = solr_runtime.make_collection(base_url, "whorl_variants")
    commands = [
        {"add-field-type": whole_type("whole_min_hash", "true")},
        {"add-field-type": whole_type("still_min_hash", "false")},
        {"replace-field": {"name": "DBID", "type": "plong", "stored": True, "indexed": True}},
        *({"add-field": {"name": name, **definition}} for name, (definition, _, _) in VARIANTS.items()),
        *({"add-copy-field": {"source": "content", "dest": name}} for name in ("whole", "no_rotation", "text_only")),
    ]
    for command in commands:
        assert requests.post(f"{url}/schema", json=command, timeout=240).json()["responseHeader"]["status"] == 0, (
            command
        )
    documents = []
    for number, text in TEXTS.items():
        hashes = full_minima(tokens(text), Scheme())
        short, long = list(write_tokens(hashes)), list(write_tokens(hashes, TokenEncoding.HEX))
        filled = {"alfresco": long, "hex_values": long, "short_values": short, "short_stored": short}
        documents.append(
            {"id": f"_DEFAULT_!{number}", "DBID": int(number), "LID": lid(number), "content": text, **filled}
        )
    requests.post(f"{url}/update?commit=true", json=documents, timeout=240).raise_for_status()
    yield url
    solr_runtime.drop(base_url, "whorl_variants")


def lid(number: str) -> str:
    return f"workspace://SpacesStore/00000000-0000-0000-0000-00000000{number}"


def opened(url: str, minhash: str) -> Store:
    return Store(SolrEngine(SolrClient(url), FieldNames(minhash=minhash)))


@pytest.mark.parametrize("field", VARIANTS)
def test_the_source_is_found_out(collection_url: str, field: str) -> None:
    """
    The token source follows from the schema alone.
    """
    with opened(collection_url, field) as store:
        assert isinstance(store.engine, SolrEngine)
        assert store.engine.collection.sources[0] is VARIANTS[field][1]


@pytest.mark.parametrize("field", VARIANTS)
def test_signatures(collection_url: str, field: str) -> None:
    """
    An exact signature equals the plain filter's list, and any other one has the same set of tokens.
    """
    encoding = VARIANTS[field][2]
    with opened(collection_url, field) as store:
        for number, text in TEXTS.items():
            signature = store.signature(number)
            expected = write_tokens(full_minima(tokens(text), Scheme()), encoding)
            assert [high for high, _ in plain_minima(tokens(text), 512)] == full_minima(tokens(text), Scheme())[
                :, 0
            ].tolist()
            assert signature is not None
            assert set(signature.tokens) == set(expected)
            assert not signature.is_exact or signature.tokens == expected


@pytest.mark.parametrize("field", ["alfresco", "short_stored", "whole", "no_rotation", "text_only"])
def test_signatures_are_exact_if_possible(collection_url: str, field: str) -> None:
    """
    Stored lists and stored text make every signature exact.
    """
    with opened(collection_url, field) as store:
        assert all(signature.is_exact for signature in store.engine.signatures(dict.fromkeys(TEXTS, True)).values())


@pytest.mark.parametrize("field", VARIANTS)
@pytest.mark.parametrize("query", ["1234", "1234_40", "1236_20", "1237_30_90", "1234_100"])
def test_the_same_hits_from_every_source(collection_url: str, field: str, query: str) -> None:
    """
    A query on any of the fields finds the same documents as on whorl's own field.
    """
    with opened(collection_url, field) as store, opened(collection_url, "MINHASH") as ours:
        page, expected = store.search(f"FINGERPRINT:{query}"), ours.search(f"FINGERPRINT:{query}")
        assert [hit.id for hit in page.hits] == [hit.id for hit in expected.hits]
        if not page.warnings:
            assert page == expected


@pytest.mark.parametrize("field", VARIANTS)
def test_a_text_as_the_source(collection_url: str, field: str) -> None:
    """
    A text that is not stored gets tokens in the field's encoding.
    """
    with opened(collection_url, field) as store:
        page = store.search("FINGERPRINT:source_90", source=TEXTS["1234"])
        assert [(hit.id, hit.score) for hit in page.hits] == [("_DEFAULT_!1234", 512.0)]


@pytest.mark.parametrize("reference", ["1234", lid("1234"), lid("1234").rpartition("/")[2], "_DEFAULT_!1234"])
def test_ways_to_name_a_document(collection_url: str, reference: str) -> None:
    """
    A DBID, a node reference, a UUID and the unique key name the same document.
    """
    literal = reference.replace("_", "\\_")
    with opened(collection_url, "alfresco") as store:
        assert store.search(f'FINGERPRINT:"{literal}"_90').hits[0].id == "_DEFAULT_!1234"


@pytest.mark.parametrize(
    "field", ["MINHASH", "text_only", "whole", "no_rotation", "alfresco", "hex_values", "short_stored", "short_values"]
)
def test_a_sketch_agrees(collection_url: str, field: str) -> None:
    """
    Fingerprints made by whorl equal those in the index.
    """
    finding = compare_sample(SolrClient(collection_url), FieldNames(minhash=field), 200)
    assert (finding.code, finding.message.split()[0]) == ("sample-agrees", "5")


def test_a_sketch_that_differs(collection_url: str) -> None:
    """
    The first differing document is named, with the number of equal tokens.
    """
    changed = {"id": "0-changed", "content": "one two three four five six", "short_stored": ["abcd", "efgh"]}
    requests.post(f"{collection_url}/update?commit=true", json=[changed], timeout=240).raise_for_status()
    finding = compare_sample(SolrClient(collection_url), FieldNames(minhash="alfresco"), 200)
    assert (finding.level, finding.code) == (Severity.WARNING, "sample-differs")
    assert "'0-changed'" in finding.message
    requests.post(
        f"{collection_url}/update?commit=true", json={"delete": ["0-changed"]}, timeout=240
    ).raise_for_status()


def test_no_source_at_all(collection_url: str) -> None:
    """
    Without vectors, stored tokens or stored text, the error names the command that explains it.
    """
    engine = SolrEngine(SolrClient(collection_url), FieldNames(minhash="text_only", content="MINHASH"))
    with pytest.raises(SchemaError, match="whorl solr check"):
        engine.signatures({"1234": False})


def test_no_field_of_tokens(collection_url: str) -> None:
    """
    The error for a missing token field names the command that adds it.
    """
    with opened(collection_url, "nowhere") as store, pytest.raises(SchemaError, match="whorl solr init"):
        store.search("FINGERPRINT:1234")
