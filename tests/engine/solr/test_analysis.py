"""whorl's tokens equal those of a real Solr's analysis, in the same order, under every kind of scheme."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, Phase, assume, given, settings

from analysed import analysed
from hostile import TEXTS
from tests import solr_runtime
from tests.plain import plain_filter
from tests.sampling import FULL, sample, thorough
from whorl import Store
from whorl.engine.check_findings import Severity
from whorl.engine.configured_fields import FieldNames
from whorl.engine.solr.check_collection import check, compare_sample
from whorl.engine.solr.client import SolrClient
from whorl.engine.solr.engine import SolrEngine
from whorl.engine.solr.inspect_collection import detect_profile, inspect, profile_of
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding
from whorl.fingerprint.shingling import Scheme, well_formed
from whorl.fingerprint.words.tokenizer import PROFILES, tokens

VECTORS = Path(__file__).parents[2] / "vectors"
#: Texts that ICU4J's word breaker breaks differently depending on earlier texts: see benchmarks/results.
LEADING_LENGTH_MARK = re.compile("(?<![ぁ-ヿ])ー")
REPEATED = "a b c d e a b c d e f a b c d e g h a b c d e f g h i j a a a a a a"
#: By field: the scheme's unusual parameters, and whether its tokens are truncated to four units.
SCHEMES: dict[str, tuple[dict[str, Any], bool]] = {
    "hundred": ({"bucket_count": 100}, False),
    "bottom": ({"bucket_count": 1, "hash_set_size": 512}, False),
    "several": ({"bucket_count": 16, "hash_set_size": 3}, False),
    "functions": ({"bucket_count": 64, "hash_count": 3}, False),
    "cut_functions": ({"bucket_count": 64, "hash_count": 3}, True),
    "both": ({"bucket_count": 4, "hash_count": 2, "hash_set_size": 2, "shingle_size": 2}, False),
    "unrotated": ({"rotation": False}, False),
    "cut": ({}, True),
    "lone": ({"bucket_count": 1}, False),
    "long": ({"shingle_size": 40}, False),
}
#: By field: an addition to the usual analysis that changes the words of some texts.
UNUSUAL = {
    "blanks": {"tokenizer": "solr.WhitespaceTokenizerFactory"},
    "markup": {"char_filter": "solr.HTMLStripCharFilterFactory"},
    "common": {"token_filter": "solr.StopFilterFactory"},
    "plurals": {"token_filter": "solr.EnglishMinimalStemFilterFactory"},
    "endings": {"token_filter": "solr.KStemFilterFactory"},
    "owners": {"token_filter": "solr.EnglishPossessiveFilterFactory"},
    "articles": {"token_filter": "solr.ElisionFilterFactory"},
    "parts": {"token_filter": "solr.WordDelimiterGraphFilterFactory"},
}


def scheme_of(field: str, profile: str) -> Scheme:
    return Scheme(profile, **SCHEMES[field][0])


def encoding_of(field: str) -> TokenEncoding:
    return TokenEncoding.UNITS_4 if SCHEMES[field][1] else TokenEncoding.UNITS_8


def field_type(
    field: str, *, tokenizer: str = "solr.ICUTokenizerFactory", char_filter: str = "", token_filter: str = ""
) -> dict[str, object]:
    scheme = scheme_of(field, "icu74")
    size = str(scheme.shingle_size)
    shingle = {
        "class": "solr.ShingleFilterFactory", "minShingleSize": size, "maxShingleSize": size,
        "outputUnigrams": str(size == "1").lower(), "tokenSeparator": " ",
    }  # fmt: skip
    minhash = {
        "class": "solr.MinHashFilterFactory", "bucketCount": str(scheme.bucket_count),
        "hashCount": str(scheme.hash_count), "hashSetSize": str(scheme.hash_set_size),
        "withRotation": str(scheme.rotation).lower(),
    }  # fmt: skip
    cut = [{"class": "solr.TruncateTokenFilterFactory", "prefixLength": "4"}] if SCHEMES[field][1] else []
    fold = {"class": "solr.ICUNormalizer2FilterFactory", "form": "nfkc_cf", "mode": "compose"}
    return {
        "name": f"{field}_type", "class": "solr.TextField",
        "indexAnalyzer": {
            "charFilters": [{"class": char_filter}] if char_filter else [],
            "tokenizer": {"class": tokenizer},
            "filters": [fold, *([{"class": token_filter}] if token_filter else []), shingle, minhash, *cut],
        },
        "queryAnalyzer": {"tokenizer": {"class": "solr.KeywordTokenizerFactory"}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def client(solr_standalone_url: str) -> Iterator[SolrClient]:
    """A core with a field for each scheme, filled by copyField."""
    base_url = solr_standalone_url.rpartition("/")[0]
    url = solr_runtime.make_collection(base_url, "whorl_schemes")
    definition = {"indexed": True, "stored": False, "termVectors": True, "omitTermFreqAndPositions": True}
    # Solr opens a new searcher after each request that changes the schema.
    changes = {
        "add-field-type": [
            *map(field_type, SCHEMES),
            *({**field_type("cut", **more), "name": f"{field}_type"} for field, more in UNUSUAL.items()),
        ],
        "add-field": [{"name": field, "type": f"{field}_type", **definition} for field in (*SCHEMES, *UNUSUAL)],
        "add-copy-field": [{"source": "content", "dest": field} for field in SCHEMES],
    }
    answer = requests.post(f"{url}/schema", json=changes, timeout=240).json()
    assert answer["responseHeader"]["status"] == 0, answer
    client = SolrClient(url)
    yield client
    client.close()
    solr_runtime.drop(base_url, "whorl_schemes")


@pytest.fixture(scope="module")
def scheme(client: SolrClient) -> Scheme:
    """The collection's scheme, as found by its own analysis."""
    return inspect(client, FieldNames()).scheme


def languages() -> list[str]:
    """Return the texts of every script in the recorded words of Lucene."""
    recorded = json.loads((VECTORS / "words-icu74.json").read_text(encoding="utf-8"))
    return [text for text, _ in recorded["words"]]


@pytest.mark.parametrize("field", SCHEMES)
def test_tokens_of_every_scheme(client: SolrClient, field: str) -> None:
    """
    For all parameters of MinHashFilterFactory, whorl makes Solr's tokens in Solr's order; the plain filter makes as
    many.
    """
    scheme = scheme_of(field, inspect(client, FieldNames()).scheme.profile)
    for text in ["", "one two three four", REPEATED, " ".join(languages()[:40]), " ".join(f"w{n}" for n in range(900))]:
        assert analysed(client.url, field, text) == sign(text, scheme, encoding_of(field)).tokens
        full = sign(text, scheme, TokenEncoding.HEX).tokens
        assert [len(full)] == [len(plain_filter(tokens(text, scheme.profile), scheme))]


@thorough
def test_languages(client: SolrClient, scheme: Scheme) -> None:
    """
    whorl makes Solr's tokens for the texts of the recorded vectors, in every script.
    """
    steady = [text for text in languages() if not LEADING_LENGTH_MARK.search(text)]
    assert len(steady) > 0.85 * len(languages())
    for text in sample(steady, 4):
        repeated = f"{text} {text} five more words after it"
        assert analysed(client.url, "cut", repeated) == sign(repeated, scheme).tokens, text


@settings(
    max_examples=120 if FULL else 40,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(TEXTS)
def test_hostile_texts(client: SolrClient, scheme: Scheme, text: str) -> None:
    """
    whorl makes Solr's tokens for random texts of all scripts, emoji, marks, odd separators and words cut at Lucene's
    buffer.
    """
    text = well_formed(text)
    assume(not LEADING_LENGTH_MARK.search(text))
    assert analysed(client.url, "cut", text) == sign(text, scheme).tokens


@pytest.mark.parametrize("field", SCHEMES)
def test_the_profile_is_seen(client: SolrClient, field: str) -> None:
    """
    The collection's own analysis reveals its word-break profile, under every scheme.
    """
    collection = inspect(client, FieldNames(minhash=field))
    assert collection.profile_is_seen
    assert collection.scheme.profile == profile_of(collection.version.lucene)
    assert replaced_rotation(collection.scheme) == replaced_rotation(scheme_of(field, collection.scheme.profile))


def replaced_rotation(scheme: Scheme) -> str:
    """Return the scheme's name without rotation, since plans count its repeats whether or not the index has them."""
    return scheme.name.removesuffix("-unrotated")


@pytest.mark.parametrize("field", UNUSUAL)
def test_other_words_are_detected(client: SolrClient, field: str) -> None:
    """
    An analysis that matches no profile gets the profile of the Lucene version, and check warns.
    """
    assert detect_profile(client, "id", field, 5, "icu74") is None
    collection = inspect(client, FieldNames(minhash=field))
    assert not collection.profile_is_seen
    assert collection.scheme.profile in PROFILES
    levels = {finding.code: finding.level for finding in check(client, FieldNames(minhash=field))}
    assert levels["other-words"] is Severity.WARNING


@pytest.mark.parametrize(
    "stages", [None, [], 7, ["ShingleFilter"], ["x", {}, "ShingleFilter"], ["x", [{}], "ShingleFilter"]]
)
def test_an_answer_of_another_shape(client: SolrClient, monkeypatch: pytest.MonkeyPatch, stages: object) -> None:
    """
    A malformed response of the analysis handler counts as no response.
    """
    for recorded in ({"analysis": stages}, {"analysis": {"0": {"cut": {"index": {"one:two": stages}}}}}):
        monkeypatch.setattr(client, "post_xml", lambda *_, recorded=recorded: recorded)
        assert detect_profile(client, "id", "cut", 5, "icu74") is None


UNUSUAL_SHINGLES: dict[str, dict[str, str]] = {
    "with_words": {"outputUnigrams": "true"},
    "joined": {"tokenSeparator": "_"},
    "short_ones": {"outputUnigramsIfNoShingles": "true"},
}


@pytest.mark.parametrize("unusual", UNUSUAL_SHINGLES)
def test_other_shingles_are_detected(client: SolrClient, unusual: str) -> None:
    """
    Other shingles of the same words are other tokens; whorl detects them in the field's definition.
    """
    changed: dict[str, Any] = {**field_type("cut"), "name": f"{unusual}_type"}
    changed["indexAnalyzer"]["filters"][1] |= UNUSUAL_SHINGLES[unusual]
    client.change("schema", {"add-field-type": changed})
    client.change("schema", {"add-field": {"name": unusual, "type": f"{unusual}_type", "stored": False}})
    collection = inspect(client, FieldNames(minhash=unusual))
    text = "a few words that are no more than that"
    same = analysed(client.url, unusual, text) == sign(text, collection.scheme).tokens
    few = analysed(client.url, unusual, "too few") == ()
    assert collection.profile_is_seen == (same and few) is False


class Weighing(SolrClient):
    """Client that counts the bytes of responses by path."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.weights: dict[str, int] = {}

    def _send_once(self, method: str, path: str, *arguments: Any) -> bytes:
        content = super()._send_once(method, path, *arguments)
        self.weights[path] = self.weights.get(path, 0) + len(content)
        return content


def test_looking_at_a_collection_costs_little(client: SolrClient) -> None:
    """
    The probe texts are too short to make tokens, and are not sent again while the field is unchanged.
    """
    with contextlib.closing(Weighing(client.url)) as weighing:
        collection = inspect(weighing, FieldNames(minhash="cut"))
        assert 0 < weighing.weights["analysis/document"] < 80_000
        weighing.weights.clear()
        again = inspect(weighing, FieldNames(minhash="cut"), collection)
        assert again == collection
        assert "analysis/document" not in weighing.weights
        other = inspect(weighing, FieldNames(minhash="hundred"), collection)
        assert other.profile_is_seen
        assert "analysis/document" in weighing.weights


def test_answers_hold_the_requested_values(client: SolrClient) -> None:
    """
    Responses do not repeat the query's tokens and have no indentation, whatever the handler's defaults are.
    """
    tokens_of_it = sign(" ".join(f"w{number}" for number in range(900)), Scheme()).tokens
    question = {"query": {"terms": {"f": "cut", "query": ",".join(tokens_of_it)}}, "limit": 0}
    client.change("config", {"add-requesthandler": {
        "name": "/talkative", "class": "solr.SearchHandler",
        "defaults": {"echoParams": "all", "indent": "true", "wt": "json"},
    }})  # fmt: skip
    with contextlib.closing(Weighing(client.url)) as weighing:
        assert weighing.select(question, "talkative").total == 0
        assert weighing.weights["talkative"] < 200


@pytest.mark.parametrize("field", SCHEMES)
def test_search_under_every_scheme(client: SolrClient, field: str) -> None:
    """
    The index returns a source's own tokens, and a text finds its copy with all of its tokens.
    """
    text = " ".join(f"w{number % 300}" for number in range(700))
    documents = [{"id": "1", "content": text}, {"id": "2", "content": "nothing of that is in here at all"}]
    client.add(documents)
    client.commit()
    scheme = inspect(client, FieldNames(minhash=field)).scheme
    expected = sign(text, scheme, encoding_of(field)).tokens
    with Store(SolrEngine(SolrClient(client.url), FieldNames(minhash=field))) as store:
        for order_matters in (False, True):
            signature = store.engine.signatures({"1": order_matters})["1"]
            assert sorted(signature.tokens) == sorted(expected)
            assert not (order_matters and signature.is_exact) or signature.tokens == expected
        for query in ("FINGERPRINT:1_90", "FINGERPRINT:1_50_90"):
            assert [hit.id for hit in store.search(query).hits] == ["1"]
        assert store.search("FINGERPRINT:1_90").hits[0].score == len(expected)
    client.post("update", {"delete": ["1", "2"]}, commit="true")


def test_a_sketch_of_several_values(client: SolrClient) -> None:
    """
    A sample of no documents proves nothing; each value of a text has its own fingerprint.
    """
    names = FieldNames(minhash="parts_of_it", content="part")
    cut, text = client.get("schema/fields/cut")["field"], client.get("schema/fields/content")["field"]
    for command in (
        {"add-field": {**cut, "name": "parts_of_it", "multiValued": True}},
        {"add-field": {**text, "name": "part", "multiValued": True, "stored": True}},
        {"add-copy-field": {"source": "part", "dest": "parts_of_it"}},
    ):
        client.post("schema", command)
    assert compare_sample(client, names, 20).code == "nothing-to-compare"
    client.add([{"id": "1", "part": ["one two three four five six", "a b c d e f g h"]}, {"id": "2", "part": ["few"]}])
    client.commit()
    finding = compare_sample(client, names, 20)
    client.post("update", {"delete": ["1", "2"]}, commit="true")
    assert (finding.code, finding.message.split()[0]) == ("sample-agrees", "2")
