"""Shares of hits without common text: equal to those of a comparison, with warnings for unknown ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.search.attribution.made import words
from whorl import Document, Store
from whorl.cli.render.result_tables import similar_table
from whorl.cli.render.terminal import console
from whorl.engine.embedded.engine import EmbeddedEngine
from whorl.fingerprint.compare_texts import ResidualOverlap
from whorl.fingerprint.winnowing import PassageScheme
from whorl.output.formatting import percent
from whorl.output.json_conversion import values
from whorl.search.boilerplate import detector_of_texts
from whorl.search.similar import compare_hit_texts
from whorl.search.similar.compare_hit_texts import compare_without_common
from whorl.search.similar.fetch_query_sources import QuerySource
from whorl.search.similar.results import Similar

CHANCE = random.Random(61)
FORM = words(CHANCE, 150)
SHARED = words(CHANCE, 60)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """
    Twenty filled forms; two of them share the filled-in text.
    """
    folder = tmp_path_factory.mktemp("rest") / "store"
    with Store(EmbeddedEngine(folder, passages=PassageScheme())) as opened:
        opened.index(Document(f"{number:02}", " ".join([*FORM, *words(CHANCE, 60)])) for number in range(18))
        opened.index(Document(name, " ".join([*words(CHANCE, 20), *FORM, *SHARED])) for name in ("one", "two"))
        yield opened


def rests_of(page: Similar) -> dict[str, ResidualOverlap]:
    return {hit.hit.id: hit.residual for hit in page.found if hit.residual is not None}


def test_as_a_comparison(store: Store) -> None:
    """
    All forms are similar; without the form only one hit shares anything, exactly as much as the comparison says.
    """
    page = store.similar("one", threshold=20, rows=50, common_above="15")
    assert len(page.found) == 19
    residual_overlaps = rests_of(page)
    assert residual_overlaps["two"] == store.compare("one", "two", common_above="15").residual
    assert residual_overlaps["two"].shares.a_in_b > 0.5
    assert max(overlap.shares.a_in_b for name, overlap in residual_overlaps.items() if name != "two") == 0
    plain = store.similar("one", threshold=20)
    assert ({hit.separates_boilerplate for hit in plain.found}, rests_of(plain)) == ({False}, {})


def test_a_text_and_named_boilerplate(store: Store) -> None:
    """
    The source may be a text outside the store, and the form may be named.
    """
    page = store.similar(source=" ".join([*FORM, *SHARED]), threshold=20, boilerplate=[" ".join(FORM)])
    assert {name for name, overlap in rests_of(page).items() if overlap.shared_shingles} == {"one", "two"}


def test_hits_that_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Hits without a stored text, and hits beyond the limit, are left out with a warning.
    """
    scheme = store.engine.scheme
    detector = detector_of_texts([], scheme)
    residuals, warnings = compare_without_common(store.engine, QuerySource("gone", "gone"), ["one"], detector)
    assert residuals == {}
    assert warnings == ("'gone' has no stored text, so its common text cannot be left out",)
    source = QuerySource("one", "one")
    residuals, warnings = compare_without_common(store.engine, source, ["two", "gone"], detector)
    assert list(residuals) == ["two"]
    assert warnings == ("1 of the hits were not read, so their shares without common text are unknown",)
    monkeypatch.setattr(compare_hit_texts, "_TEXTS_AT_ONCE", 2)
    monkeypatch.setattr(compare_hit_texts, "MOST_PAGE_CHARACTERS", 1)
    assert len(compare_without_common(store.engine, source, ["00", "01", "02"], detector)[0]) == 2


def test_in_a_terminal_and_as_json(store: Store) -> None:
    """
    The table shows the share without common text after each percentage, the JSON next to the shares.
    """
    page = store.similar("one", threshold=20, rows=1, common_above="15", exact=True)
    printer = console()
    with printer.capture() as shown:
        printer.print(similar_table(page, printer.width))
    assert f"({percent(rests_of(page)['two'].shares.a_in_b)})" in shown.get()
    hits = values(page)["hits"]
    assert [hit["without_common"]["a_in_b"] > 0.5 for hit in hits] == [True]
    plain = values(store.similar("one", threshold=20, rows=1))["hits"]
    assert "without_common" not in plain[0]
