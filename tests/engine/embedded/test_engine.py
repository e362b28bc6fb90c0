"""The embedded engine's answers: pages equal to the oracle's, fields, references and explanations."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.embedded.corpus import FIELDS, WORDS, documents, plans
from tests.engine.embedded.store_process import SCHEME
from tests.oracle import Oracle
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import SchemeMismatchError
from whorl.fingerprint.fingerprint_texts import sign
from whorl.fingerprint.minhash.signature_and_tokens import TokenEncoding, integers, read_tokens
from whorl.fingerprint.shingling import Scheme
from whorl.model import Document, Hit, PropertyValue
from whorl.query.plan.nodes import (
    Bool,
    BoundNode,
    BoundPlan,
    FingerprintClause,
    Kind,
    MatchAll,
    Nothing,
    SharedBands,
    SharedTokens,
    Words,
)
from whorl.query.plan.planner import bind

UUID = "3f2a91c0-0d6e-4b7c-9e55-0123456789ab"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """
    A store of several segments with replaced and deleted documents, and an oracle of the remaining ones.
    """
    first, second = documents(1, 150), documents(2, 60)
    # The same ids with other texts replace some of the first documents.
    second = [Document(old.id, new.text, new.name, new.properties) for old, new in zip(first, second, strict=False)]
    retained = {document.id: document for document in first + second}
    with EmbeddedEngine(tmp_path_factory.mktemp("corpus") / "store", scheme=SCHEME) as engine:
        for batch in (first[:70], first[70:], second):
            engine.index(batch)
            engine.refresh()
        gone = sorted(retained)[::9]
        assert engine.delete([*gone, "never there", "\ud800"]) == len(gone)
        for document_id in gone:
            del retained[document_id]
        yield engine, Oracle(retained.values(), SCHEME), list(retained.values())


def ask(engine, plan, start=0, rows=10):
    return engine.search(BoundPlan(plan), start=start, rows=rows)


def ids(page):
    return [hit.id for hit in page.hits]


@pytest.mark.slow
@given(plan=plans(), start=st.integers(0, 200), rows=st.integers(0, 200))
def test_every_page_is_the_oracles(corpus, plan, start, rows):
    """
    Total, ids, scores and order are those of the plain evaluation, wherever the page lies.
    """
    engine, oracle, _ = corpus
    expected = oracle.hits(BoundPlan(plan))
    page = ask(engine, plan, start, rows)
    assert page.total == len(expected)
    assert [(hit.id, hit.score) for hit in page.hits] == expected[start : start + rows]


@pytest.mark.slow
def test_pages_join_to_the_whole(tmp_path):
    """
    With far more equal scores than a page holds, the pages still follow each other without a gap.
    """
    chosen = random.Random(3)
    all_ids = [f"{chosen.randrange(10**6):06}" for _ in range(700)]
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        for at in range(0, 700, 100):
            engine.index(
                [
                    Document(document_id, "blue" if int(document_id) % 3 else "blue red")
                    for document_id in all_ids[at : at + 100]
                ]
            )
            engine.refresh()
        plan = Bool(should=(Words("red"), Words("blue", weight=2.0)), min_should_match=1)
        expected = sorted(set(all_ids), key=lambda name: (int(name) % 3 > 0, name))
        for rows in (9, 64, 65, 333):
            pages = [ids(ask(engine, plan, start, rows)) for start in range(0, 720, rows)]
            assert [hit for page in pages for hit in page] == expected
        assert ask(engine, plan, 10**9, 10).hits == ()
        assert len(ask(engine, plan, 0, 10**9).hits) == len(expected)


@pytest.mark.slow
def test_deep_and_wide_plans(corpus):
    """
    A hundred levels, a thousand clauses, and both at once give the oracle's answer.
    """
    engine, oracle, _ = corpus
    deep: BoundNode = Words("red")
    for level in range(100):
        deep = Bool(must=(deep,), must_not=(Nothing("no"),)) if level % 2 else Bool(should=(deep, MatchAll(0.0)))
    words = [Words(WORDS[number % 9], FIELDS[number % 6] if number % 2 else None) for number in range(1000)]
    wide = Bool(should=tuple(words), min_should_match=1)
    for plan in (deep, wide, Bool(must=(deep, wide))):
        assert [(hit.id, hit.score) for hit in ask(engine, plan, 0, 200).hits] == oracle.hits(BoundPlan(plan))


def test_two_fingerprints_of_512_tokens(tmp_path):
    """
    A document shares all 512 tokens with itself, including repeats, and the scores of two clauses add up.
    """
    chosen = random.Random(4)
    words = [f"w{n}" for n in range(900)]
    near = [*words[:700], *(chosen.choice(words) for _ in range(200))]
    long = [Document("whole", " ".join(words)), Document("near", " ".join(near))]
    fifth, most = Fraction(1, 5), Fraction(9, 10)
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([*long, Document("short", "w1 w2 w3 w4 w5")])
        engine.refresh()
        fingerprints = (
            FingerprintClause("whole", fifth),
            FingerprintClause("near", fifth, most),
            FingerprintClause("short"),
        )
        wanted = {own.reference: True for own in fingerprints}
        plans = [bind(own, engine.signatures(wanted)) for own in fingerprints]
        oracle = Oracle(long, Scheme())
        for plan in (*plans[:2], BoundPlan(Bool(must=(plans[0].root, plans[1].root)))):
            assert [(hit.id, hit.score) for hit in engine.search(plan, start=0, rows=9).hits] == oracle.hits(plan)
        assert engine.search(plans[0], start=0, rows=1).hits == (Hit("whole", "", 512.0),)
        # One shingle fills every bucket and counts 512 times.
        assert engine.search(plans[2], start=0, rows=1).hits == (Hit("short", "", 512.0),)


def test_foreign_tokens_match_nothing(corpus):
    """
    Hexadecimal tokens of another collection match no document here.
    """
    engine, _, documents = corpus
    own = next(signature.integers for document in documents if len(signature := sign(document.text, SCHEME)))
    foreign = integers(read_tokens(["0123456789abcdef" * 2, "abc", "", "\ud800bcd"], TokenEncoding.HEX))
    assert ask(engine, SharedTokens("s", foreign)).total == 0
    assert ask(engine, SharedBands("s", (foreign, (own[0], foreign[1])))).total == 0
    assert ask(engine, SharedTokens("s", (own[0], *foreign), 2)).total == 0
    assert ask(engine, SharedTokens("s", (own[0], *foreign), 1)).total > 0


def test_phrases_stay_within_one_value(tmp_path):
    """
    A phrase does not match across the end of a value, field or document.
    """
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document("a", "five six", "three four", {"k": ["one two", "three four"], "l": "five"})])
        engine.refresh()
        assert [ask(engine, Words(text, "k")).total for text in ("one two", "two three", "three four")] == [1, 0, 1]
        assert [ask(engine, Words(text)).total for text in ("three four", "four five", "five six")] == [1, 0, 1]
        assert ask(engine, Words("four five", "k")).total == 0


def test_words_in_name_and_content_count_once(tmp_path):
    """
    A word in both default fields, name and content, counts once.
    """
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document("a", "blue sky", "blue"), Document("b", "blue", "red")])
        engine.refresh()
        assert [hit.score for hit in ask(engine, Words("blue", weight=2.0)).hits] == [2.0, 2.0]


def test_empty_words_keep_their_place(tmp_path):
    """
    Folding leaves nothing of a Hangul filler, yet it stands between the words, here and in Solr.
    """
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document("a", "one \N{HANGUL FILLER} two")])
        engine.refresh()
        texts = "one two", "one \N{HANGUL FILLER} two", "\N{HANGUL FILLER}"
        assert [ask(engine, Words(text)).total for text in texts] == [0, 1, 1]


@pytest.mark.parametrize("length", [10, 990, 4000, 70_000])
def test_long_words_and_field_names(tmp_path, length):
    """
    Words and field names that are too long for a term are found, but only by their full text.
    """
    word, field = "x" * min(length, 4000), "f" * length
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document("a", f"before {word} after", properties={field: f"in {word}"})])
        engine.refresh()
        assert ask(engine, Words(f"before {word} after")).total == 1
        assert ask(engine, Words(f"in {word}", field)).total == 1
        assert ask(engine, Words(word[:-1])).total == 0
        assert ask(engine, Words(f"in {word}", field[:-1])).total == 0


@pytest.mark.parametrize("field", ["nmae", "KIND", "MINHASH", "k\x1fred"])
def test_unknown_fields(corpus, field):
    """
    An unknown field matches nothing; resolving has warned about it before.
    """
    engine, *_ = corpus
    assert field not in engine.fields().known
    assert ask(engine, Words("red", field)).total == 0
    assert ask(engine, Bool(must_not=(Words("red", field),), must=(MatchAll(),))).total == engine.count()


def test_a_field_is_forgotten_with_its_last_document(tmp_path):
    """
    A field is known while any document has it.
    """
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document(document_id, "", properties={"k": "one"}) for document_id in "ab"])
        engine.delete(["a"])
        assert engine.fields().known["k"] == {Kind.TEXT: "k", Kind.KEYWORD: "k"}
        engine.delete(["b"])
        assert "k" not in engine.fields().known


def test_texts_without_words(corpus):
    """
    Punctuation matches nothing; the warnings are those of the plan.
    """
    engine, *_ = corpus
    page = engine.search(BoundPlan(Words("---"), ("of the plan",)), start=0, rows=1)
    assert (page.total, page.warnings) == (0, ("of the plan",))
    assert ask(engine, Words("\ud800", "id")).total == 0
    assert ask(engine, Words("\ud800 red")).total == ask(engine, Words("\ufffd red")).total


def test_boosts_that_are_no_integers(tmp_path):
    """
    Scores have the precision of 32-bit floats, and equal sums are equal scores.
    """
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document(document_id, "red green") for document_id in "cab"])
        engine.refresh()
        page = ask(engine, Bool(should=(Words("red", weight=0.1), Words("green", weight=0.2)), min_should_match=1))
        assert ids(page) == ["a", "b", "c"]
        assert [hit.score for hit in page.hits] == pytest.approx([0.3] * 3)


def test_ids_of_every_kind(tmp_path):
    """
    Ids are compared as a whole, including quotes, blanks, 1,000 characters outside the BMP, and syntax of SQL or
    queries.
    """
    odd = ["'; DROP TABLE document --", " ", "a b", "A", "a", "%", "*", "\\", "😀" * 1000, "é", "e\u0301", "\xa0"]
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document(name, f"red w{number}") for number, name in enumerate(odd)])
        engine.index([Document(text, "blue red") for text in odd])
        engine.refresh()
        assert engine.count() == len(odd)
        assert ids(ask(engine, Words("red"), 0, 99)) == sorted(odd)
        assert [ids(ask(engine, Words(text, "id"))) for text in odd] == [[text] for text in odd]
        assert ask(engine, Words("w3")).total == 0
        for name in odd:
            assert engine.delete([name, name]) == 1
            assert engine.delete([name]) == 0
        assert ask(engine, MatchAll()).total == engine.count() == 0


def test_the_last_document_of_an_id_counts(tmp_path):
    """
    If an id occurs twice, the last document replaces the others, within a batch and across batches.
    """
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document("a", "one"), Document("a", "two")])
        engine.index([Document("a", "three"), Document("b", "three")])
        engine.index([Document("a", "four")])
        engine.index([])
        engine.refresh()
        assert [ask(engine, Words(text)).total for text in ("one", "two", "three", "four")] == [0, 0, 1, 1]


def test_references(tmp_path):
    """
    An id, a DBID, a UUID or a node reference; DBID wins over an id of the same digits, the first id over others.
    """
    texts = {
        "12": "one two three",
        "b": "two three four",
        "a": "three four five",
        UUID: "four five six",
        "y": "five six seven",
    }
    other = UUID.replace("3", "4")
    properties: dict[str, dict[str, PropertyValue]] = {
        "b": {"DBID": 12},
        "a": {"DBID": "12"},
        "y": {"LID": f"workspace://SpacesStore/{other}"},
    }
    named = {
        "12": "a",
        "13": None,
        "b": "b",
        UUID: UUID,
        f"workspace://SpacesStore/{UUID}": UUID,
        other: "y",
        f"workspace://SpacesStore/{other}": "y",
        "no such": None,
        "\ud800": None,
        "": None,
    }
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document(name, text, properties=properties.get(name, {})) for name, text in texts.items()])
        assert engine.resolve(named) == {name: reference for name, reference in named.items() if reference}
        expected = {name: sign(text, SCHEME) for name, text in texts.items()}
        assert engine.signatures(dict.fromkeys([*named, *texts], True)) == expected
        engine.index([Document("a", texts["a"])])
        engine.delete(["b"])
        assert engine.resolve(["12", "b"]) == {"12": "12"}


def test_a_short_text_has_no_tokens(tmp_path):
    """
    A document with too few words for a shingle has an empty signature, unlike a missing document.
    """
    with EmbeddedEngine(tmp_path / "store") as engine:
        engine.index([Document("a", "one two three four")])
        assert engine.signatures({"a": True, "b": True}) == {"a": sign("", Scheme())}


def test_digests(corpus):
    """
    Digests equal the stored documents' digests, also for more ids than fit into one SQL statement.
    """
    engine, _, documents = corpus
    references = [f"no {number}" for number in range(2000)] + [document.id for document in documents] + ["\ud800"]
    assert engine.digests(references) == {document.id: document.digest for document in documents}


def test_explain(corpus):
    """
    `explain` returns the query with the store, the page and the order.
    """
    explained = corpus[0].explain(BoundPlan(Words("red", "kind")), start=2, rows=5)
    assert explained == {
        "engine": "embedded",
        "store": str(corpus[0].path),
        "scheme": SCHEME.name,
        "query": {"words": ["red"], "fields": ["kind"], "weight": 1.0},
        "start": 2,
        "rows": 5,
        "order": ["score descending", "id ascending"],
    }


def test_properties_survive_a_rebuild(tmp_path):
    """
    Numbers, truth values and lists are found by the same words after the index was rebuilt.
    """
    properties: dict[str, PropertyValue | Sequence[PropertyValue]] = {
        "n": 12,
        "f": 1.5,
        "t": True,
        "l": ["x y", 7],
        "none": [],
        "big": 10**18,
    }
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        engine.index([Document("a", "text", "name", properties)])
    for file in (tmp_path / "store" / "index").glob("*/*"):
        file.unlink()
    with EmbeddedEngine(tmp_path / "store", scheme=SCHEME) as engine:
        values = {"n": "12", "f": "1.5", "t": "true", "l": "7", "big": str(10**18)}
        assert [ask(engine, Words(text, field)).total for field, text in values.items()] == [1] * 5
        assert ask(engine, Words("x", "none")).warnings == ()


def test_other_schemes_are_refused(tmp_path):
    """
    The error names both schemes and the remedy.
    """
    EmbeddedEngine(tmp_path / "store", scheme=SCHEME).close()
    with pytest.raises(SchemeMismatchError, match=r"minhash1-icu74-w2-b16.*minhash1-icu74-w5-b512.*new folder"):
        EmbeddedEngine(tmp_path / "store")
    with EmbeddedEngine(tmp_path / "store", create=False, scheme=SCHEME) as engine:
        assert engine.scheme == SCHEME
