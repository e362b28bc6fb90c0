"""Search with common text ignored: the hits are those of an exact comparison of all documents."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checks import Checks
from tests.search.attribution.made import words
from whorl import Document, Store, open_store
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.errors import ParameterError
from whorl.fingerprint.compare_texts import Comparison, words_of
from whorl.fingerprint.fingerprint_texts import hashes_of_words
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Metric
from whorl.fingerprint.winnowing import PassageScheme
from whorl.output.json_conversion import values
from whorl.output.search import describe_promise, plan_lines
from whorl.request_context import new_request
from whorl.search.boilerplate import BoilerplateDetector
from whorl.search.similar import find_similar
from whorl.search.similar.find_similar import _hashes_without_common
from whorl.search.similar.sketch_plan import ResidualPlan

CHANCE = random.Random(71)
FORM = words(CHANCE, 300)
#: Share of changed words in the second and third of three filled forms.
CHANGED = (0.0, 0.01, 0.05)
METRICS = ("jaccard", "a_in_b", "b_in_a")
LINE = "25"


def filled(body: list[str]) -> str:
    middle = len(body) // 2
    return " ".join([*body[:middle], *FORM, *body[middle:]])


def triples() -> Iterator[Document]:
    for number in range(12):
        body = words(CHANCE, (15, 60, 200, 700)[number % 4])
        for version, share in enumerate(CHANGED):
            text = [words(CHANCE, 1)[0] if CHANCE.random() < share else word for word in body]
            yield Document(f"{number:02}-{version}", filled(text[: len(text) - 5 * version]))


DOCUMENTS = list(triples())


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """
    Thirty-six filled forms in groups of three: all share the form, and each group the filled-in text.
    """
    folder = tmp_path_factory.mktemp("by_rest") / "store"
    with Store(EmbeddedEngine(folder, passages=PassageScheme())) as opened:
        opened.index(DOCUMENTS)
        yield opened


@pytest.fixture(scope="module")
def compared(store: Store) -> dict[str, dict[str, Comparison]]:
    """
    Some documents, each compared with all others.
    """
    return {
        source: {
            document.id: store.compare(source, document.id, common_above=LINE)
            for document in DOCUMENTS
            if document.id != source
        }
        for source in ("01-1", "02-0", "03-2")
    }


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_hits_match_the_remaining_text(store: Store, compared: dict[str, dict[str, Comparison]], metric: str) -> None:
    """
    The search reaches the requested recall without a false hit; each hit has the numbers of the pairwise comparison,
    and the order is that without common text.
    """
    wanted = found_of_them = 0
    for source, others in compared.items():
        rests = {name: one.residual for name, one in others.items() if one.residual is not None}
        for threshold in (10, 40, 85):
            page = store.similar(
                source, metric=metric, threshold=threshold, rows=50, common_above=LINE, ignore_common=True
            )
            enough = {
                name: residual
                for name, residual in rests.items()
                if residual.shares.measured_by(Metric(metric)) >= threshold / 100
            }
            assert all(hit.residual == enough[hit.hit.id] for hit in page.found)
            assert (page.total, page.is_total_exact) == (len(page.found), True)
            wanted, found_of_them = wanted + len(enough), found_of_them + page.total
            scores = [hit.hit.score for hit in page.found]
            assert scores == sorted(scores, reverse=True)
            for hit in page.found:
                assert hit.estimate.shares == others[hit.hit.id].shares
                assert hit.hit.score == pytest.approx(
                    100 * enough[hit.hit.id].shares.measured_by(Metric(metric)), abs=1e-4
                )
    assert found_of_them >= 0.95 * wanted > 10
    everything = store.similar("00-0", metric=metric, threshold=30, rows=50, common_above=LINE)
    assert everything.total > 20


def test_forms_with_the_same_entries_are_similar(store: Store) -> None:
    """
    A form with few filled-in words shares nine tenths with every other form; with the form ignored, it matches only the
    one with the same words.
    """
    source = " ".join([*DOCUMENTS[3].text.split()[:30], *FORM])
    page = store.similar(source=source, metric="a_in_b", threshold=90, common_above=LINE, ignore_common=True)
    assert [hit.hit.id for hit in page.found] == ["01-0"]
    named = store.similar(
        source=source, metric="a_in_b", threshold=90, boilerplate=[" ".join(FORM)], ignore_common=True
    )
    assert [hit.hit.id for hit in named.found] == ["01-0"]
    assert store.similar(source=source, metric="a_in_b", threshold=90).total > 30
    assert store.similar(source=" ".join(FORM), threshold=20, common_above=LINE, ignore_common=True).total == 0


def test_within_other_queries(store: Store) -> None:
    """
    A calibrated FINGERPRINT finds the same hits and the source itself.
    """
    alone = store.similar("01-0", metric="jaccard", threshold=40, common_above=LINE, ignore_common=True)
    page = store.search("FINGERPRINT:01-0_40", plan="calibrated", common_above=LINE, ignore_common=True)
    assert [hit.id for hit in page.hits] == ["01-0", *(similar.hit.id for similar in alone.found)]
    explained = store.explain("FINGERPRINT:01-0_40", plan="calibrated", common_above=LINE, ignore_common=True)
    ((_, plan),) = explained.fingerprints
    assert isinstance(plan, ResidualPlan)
    assert alone.found
    filtered = store.similar("01-0", threshold=40, filter="id:02*", common_above=LINE, ignore_common=True)
    assert filtered.total == 0


def test_the_page_reports_the_residual_and_the_plan(store: Store) -> None:
    """
    The page reports the size of the uncommon part of the source, the plan and the promise.
    """
    page = store.similar("02-0", metric="jaccard", threshold=50, common_above=LINE, ignore_common=True)
    assert isinstance(page.plan, ResidualPlan)
    assert (page.plan.source_size, page.plan.promised) == (496, True)
    assert 192 <= page.plan.uncommon_size <= 220
    lines = list(plan_lines(page.plan))
    assert f"of which {page.plan.uncommon_size} are not common; those alone count" in lines
    assert (
        describe_promise(page.plan)
        == "at least 95 of 100 documents just at the threshold are found, more of those above it"
    )
    answer = values(page)
    assert (answer["ignore_common"], answer["source_shingles"]) == (True, 496)
    within = store.similar("02-0", metric="b_in_a", threshold=50, common_above=LINE, ignore_common=True).plan
    assert isinstance(within, ResidualPlan)
    assert (within.least_shared, within.promised) == (20, False)
    assert "with 20 of the source's shingles that are not common are found" in describe_promise(within)
    bare = store.similar(source=" ".join(FORM), boilerplate=[" ".join(FORM)], ignore_common=True)
    assert bare.warnings == ("all of 'source' is common, so nothing is left to look for",)
    assert describe_promise(bare.plan) == "all of the source is common, so nothing is left to look for"


def test_more_than_can_be_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If not all candidates can be read, those with most in common are, and the total is marked as projected.
    """
    monkeypatch.setattr(find_similar, "MOST_READ_WITHOUT_COMMON", 1)
    page = store.similar("02-0", threshold=20, common_above=LINE, ignore_common=True)
    assert [hit.hit.id for hit in page.found] == ["02-1"]
    assert not page.is_total_exact
    assert any("the total is projected" in warning for warning in page.warnings)
    monkeypatch.setattr(find_similar, "MOST_READ_WITHOUT_COMMON", 0)
    nothing = store.similar("02-0", threshold=20, common_above=LINE, ignore_common=True)
    assert (nothing.total, nothing.is_total_exact) == (0, False)


def test_invalid_requests_are_refused(store: Store, tmp_path: Path) -> None:
    """
    Errors: tokens and bands, and a store without passages. Named texts need no passages, and without a definition of
    common text it is text in 1 % of the documents.
    """
    default = store.similar("00-0", ignore_common=True)
    assert default.plan == store.similar("00-0", common_above="1%", ignore_common=True).plan
    with pytest.raises(ParameterError, match="means nothing for tokens and bands"):
        store.search("FINGERPRINT:00-0", common_above=LINE, ignore_common=True)
    with open_store(tmp_path / "plain") as plain:
        plain.index(DOCUMENTS[6:8])
        assert plain.similar("02-0", threshold=30, boilerplate=[" ".join(FORM)], ignore_common=True).total == 1
        with pytest.raises(ParameterError, match="'whorl index --passages' adds them"):
            plain.similar("02-0", common_above=LINE, ignore_common=True)


def test_hashes_without_boilerplate() -> None:
    """
    The hashes are those of the shingles that are not wholly in boilerplate, and checks for cancellation come between
    their steps, since each step reads a whole text.
    """
    own, form, checks = [f"own{at % 70}" for at in range(90)], [f"form{at}" for at in range(40)], Checks()
    texts = own[:50] + form + own[50:]
    text = words_of(" ".join(texts))
    detector = BoilerplateDetector(Scheme(), (words_of(" ".join(form)),))
    with new_request("", checks):
        hashes, distinct = _hashes_without_common(text, detector, Scheme())
    shingles = {tuple(texts[at : at + 5]) for at in range(len(texts) - 4)}
    common = {tuple(form[at : at + 5]) for at in range(len(form) - 4)}
    expected = [int(hashes_of_words(shingle, Scheme())[0]) for shingle in shingles - common]
    assert hashes.tolist() == sorted(expected)
    assert distinct == len(shingles)
    in_steps = Checks()
    with new_request("", in_steps):
        hashes_of_words(text.words, Scheme())
        detector.mark_common(text)
    assert checks.count >= in_steps.count + 3
