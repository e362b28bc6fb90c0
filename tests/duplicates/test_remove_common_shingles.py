"""Tests of boilerplate among compared documents, against plain sets of shingles."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tests.duplicates.results import clusters
from tests.duplicates.sets import COMPLETE, SMALL, numbers, sketches_of
from whorl import Document, open_store
from whorl.duplicates.options import DuplicatesOptions, parse_pair_options
from whorl.duplicates.remove_common_shingles import (
    BoilerplateOptions,
    frequent_hashes,
    parse_boilerplate_options,
    remove_boilerplate,
)
from whorl.duplicates.run import duplicates_among, duplicates_in
from whorl.errors import ParameterError
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.statistics.metric import Shares

PAIR_OPTIONS = parse_pair_options("jaccard", 60, 100)


def words(chance: random.Random, count: int) -> str:
    return " ".join(f"word{chance.randrange(10**6)}" for _ in range(count))


def filled_forms(count: int = 40) -> list[Document]:
    """Return forms filled in with random words, two of them nearly equal, two equal, and the blank form twice."""
    chance = random.Random(3)
    form, twice = words(chance, 150), words(chance, 30)
    actual = [words(chance, 30) for _ in range(count)] + [twice, f"{twice} more", "one two three four"] + [
        "one two three four", ""
    ]  # fmt: skip
    names = [f"own {number}" for number in range(count)] + ["near", "nearer", "same", "equal", "form"]
    # The words filled in are in the middle of the form.
    return [
        Document(name, f"{form[:500]} {own} {form[500:]}" if own else form)
        for name, own in zip([*names, "blank"], [*actual, ""], strict=True)
    ]


FORMS = filled_forms()


def shingles(text: str, size: int = 5) -> frozenset[tuple[str, ...]]:
    row = text.split()
    return frozenset(tuple(row[at : at + size]) for at in range(len(row) - size + 1))


def rests(documents: Sequence[Document], above: int) -> dict[str, frozenset[tuple[str, ...]]]:
    """Return the shingles of documents that at most `above` distinct documents have."""
    sets = {document.id: shingles(document.text) for document in documents}
    frequency = Counter(shingle for members in set(sets.values()) for shingle in members)
    return {name: frozenset(one for one in tokens if frequency[one] <= above) for name, tokens in sets.items()}


def test_common_text_makes_no_duplicates() -> None:
    """
    With all text, all forms are one cluster. Without common text, only equal forms and forms filled in with similar
    words are pairs. Both shares are reported in both cases, and equal the shares of plain sets.
    """
    sets, left = {form.id: shingles(form.text) for form in FORMS}, rests(FORMS, 10)
    with duplicates_among(FORMS, DuplicatesOptions(PAIR_OPTIONS, common=BoilerplateOptions("10"))) as duplicates:
        assert clusters(duplicates) == {frozenset(sets)}
        assert duplicates.residual is not None
        assert duplicates.residual.above == 10
        pairs = list(duplicates.pairs())
    expected = {("near", "nearer"), ("same", "equal"), ("form", "blank")}
    with duplicates_among(
        FORMS, DuplicatesOptions(PAIR_OPTIONS, common=BoilerplateOptions("10", is_ignored=True))
    ) as duplicates:
        assert clusters(duplicates) == {frozenset(group) for group in expected}
        alone = list(duplicates.pairs())
        members = [match for cluster in duplicates.clusters(complete=True) for match in cluster.matches]
    assert {(pair.a.id, pair.b.id) for pair in alone} == expected
    for pair in [*pairs, *alone, *members]:
        for actual, of in ((pair.shares, sets), (pair.residual, left)):
            both, either = of[pair.a.id] & of[pair.b.id], of[pair.a.id] | of[pair.b.id]
            assert actual is not None
            assert actual.jaccard == (len(both) / len(either) if either else 0)
            of_one = [len(both) / len(of[member.id]) if of[member.id] else 0 for member in (pair.a, pair.b)]
            assert [actual.a_in_b, actual.b_in_a] == of_one


def test_shares_of_a_copy_before_the_other_document() -> None:
    """
    If a copy of B comes before A, all shares of the pair belong to the documents in the order of the pair.
    """
    text = "one two three four five six seven eight nine ten"
    documents = [Document("x", text), Document("y", f"{text} eleven twelve"), Document("z", text)]
    options = DuplicatesOptions(PAIR_OPTIONS, common=BoilerplateOptions(None, ("no word of these documents",)))
    with duplicates_among(documents, options) as duplicates:
        shares = {(pair.a.id, pair.b.id): pair.residual for pair in duplicates.pairs()}
    assert shares == {("x", "y"): Shares(0.75, 1, 0.75), ("x", "z"): Shares(1, 1, 1), ("y", "z"): Shares(0.75, 0.75, 1)}


def test_pairs_by_residual_shingles_equal_a_plain_comparison() -> None:
    """
    Without common text, the pairs at any threshold are the pairs of plain sets and the pairs of equal documents.
    """
    left = rests(FORMS, 3)
    for metric, threshold in (("jaccard", 5), ("jaccard", 50), ("containment", 20)):
        expected = set()
        for a, b in combinations(left, 2):
            both, whole = left[a] & left[b], left[a] | left[b]
            size = len(whole) if metric == "jaccard" else min(len(left[a]), len(left[b]))
            texts = [form.text for form in FORMS if form.id in (a, b)]
            if (both and Fraction(len(both), size) >= Fraction(threshold, 100)) or texts[0] == texts[1]:
                expected.add(frozenset((a, b)))
        options = parse_pair_options(metric, threshold, 100)
        with duplicates_among(
            FORMS, DuplicatesOptions(options, common=BoilerplateOptions("3", is_ignored=True))
        ) as duplicates:
            assert {frozenset((pair.a.id, pair.b.id)) for pair in duplicates.pairs()} == expected


def test_boilerplate_texts_are_common() -> None:
    """
    A text named as boilerplate is common, however rare it is.
    """
    few = [*FORMS[:3], *FORMS[40:42], *FORMS[-2:]]
    with duplicates_among(
        few, DuplicatesOptions(PAIR_OPTIONS, common=BoilerplateOptions(None, (FORMS[-1].text,), is_ignored=True))
    ) as duplicates:
        assert clusters(duplicates) == {frozenset(("near", "nearer")), frozenset(("form", "blank"))}
        assert duplicates.residual is not None
        assert (duplicates.residual.above, duplicates.residual.only_common) == (None, 2)


def test_a_store_and_its_documents_give_equal_pairs(tmp_path: Path) -> None:
    """
    A store gives the same results as its documents outside a store: it reads their texts, and needs no passages.
    """
    options = BoilerplateOptions(is_ignored=True)
    with duplicates_among(FORMS, DuplicatesOptions(PAIR_OPTIONS, common=options)) as duplicates:
        expected = [(pair.a.id, pair.b.id, pair.shares, pair.residual) for pair in duplicates.pairs()]
    with open_store(tmp_path / "store") as store:
        store.index([*FORMS, Document("empty", "")])
        with duplicates_in(store.engine, DuplicatesOptions(PAIR_OPTIONS, common=options)) as duplicates:
            actual = [(pair.a.id, pair.b.id, pair.shares, pair.residual) for pair in duplicates.pairs()]
            assert duplicates.without_text == 1
    assert {frozenset(row[:2]) for row in actual} == {frozenset(row[:2]) for row in expected}
    assert sorted(str(row[2:]) for row in actual) == sorted(str(row[2:]) for row in expected)


def test_frequencies_count_reference_documents(tmp_path: Path) -> None:
    """
    Frequencies include the reference documents, and only new documents are compared with them.
    """
    options = BoilerplateOptions("10", is_ignored=True)
    with duplicates_among(
        FORMS[41:], DuplicatesOptions(PAIR_OPTIONS, common=options), reference=FORMS[:41]
    ) as duplicates:
        assert {(pair.a.id, pair.b.id) for pair in duplicates.pairs(new=True)} == {
            ("near", "nearer"), ("same", "equal"), ("form", "blank"),
        }  # fmt: skip


@pytest.mark.parametrize("at_once", [50, 1 << 23])
def test_frequencies_in_portions(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    The common hashes do not depend on the batch size. They equal a plain count, and the remaining sketches lack them.
    """
    monkeypatch.setattr("whorl.duplicates.remove_common_shingles._AT_ONCE", at_once)
    chance = random.Random(5)
    known = sorted(numbers(chance, 60))
    sets = [set(chance.sample(known, chance.randrange(60))) | numbers(chance, chance.randrange(9)) for _ in range(40)]
    sketches = sketches_of(sets)
    frequency = Counter(number for members in sets for number in members)
    shift = 64 - COMPLETE.bits
    common = {number for number, count in frequency.items() if count > 20}
    actual = frequent_hashes(sketches, np.arange(len(sets)), 20)
    assert actual.tolist() == sorted(number >> shift for number in common)
    residual = remove_boilerplate(sketches, np.arange(len(sets)), BoilerplateOptions("20"), Scheme()).sketches
    for place, hashes in enumerate(sets):
        assert residual.sketch(place).hashes.tolist() == sorted(number >> shift for number in hashes - common)
        assert residual.sizes[place] == len(hashes - common)


def test_a_document_too_large_to_keep_whole_stays_whole() -> None:
    """
    A document too large for a complete sketch keeps all of its hashes; others lose their common ones.
    """
    chance = random.Random(7)
    shared = numbers(chance, 30)
    sets = [shared | numbers(chance, 10) for _ in range(20)] + [shared | numbers(chance, 1000)]
    sketches = sketches_of(sets, SMALL)
    residual = remove_boilerplate(sketches, np.arange(21), BoilerplateOptions("15"), Scheme()).sketches
    assert residual.sizes.tolist() == [10] * 20 + [1030]
    assert residual.sketch(20) == sketches.sketch(20)


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_state(tmp_path: Path, is_ignored: bool) -> None:
    """
    Later documents make further text common: a run with state gives the pairs of a single run over all documents, and
    after a change of the options the pairs of a run with the new options.
    """
    options = BoilerplateOptions("10", is_ignored=is_ignored)

    def pairs(documents: Sequence[Document], common: BoilerplateOptions | None, folder: Path | None) -> list[object]:
        with duplicates_among(documents, DuplicatesOptions(PAIR_OPTIONS, common=common, state=folder)) as duplicates:
            return [(pair.a.id, pair.b.id, pair.shares, pair.residual) for pair in duplicates.pairs()]

    state = tmp_path / "state"
    for count in (8, 30, len(FORMS)):
        assert pairs(FORMS[:count], options, state) == pairs(FORMS[:count], options, None)
    line = BoilerplateOptions("3", is_ignored=is_ignored)
    for common in (None, line, options):
        assert pairs([], common, state) == pairs(FORMS, common, None)


def test_a_state_of_a_store(tmp_path: Path) -> None:
    """
    With a state, the texts of a store are read once, and again only after a change.
    """
    options, state = BoilerplateOptions("10", is_ignored=True), tmp_path / "state"
    read: list[str] = []
    with open_store(tmp_path / "store") as store:

        def pair_ids() -> set[frozenset[str]]:
            with duplicates_in(store.engine, DuplicatesOptions(PAIR_OPTIONS, common=options, state=state)) as one:
                return clusters(one)

        texts = store.engine.texts
        store.engine.texts = lambda ids: read.extend(ids) or texts(ids)  # type: ignore[method-assign, func-returns-value]
        store.index(FORMS[:20])
        assert pair_ids() == set()
        assert sorted(read) == sorted(form.id for form in FORMS[:20])
        read.clear()
        store.index([*FORMS[20:], Document("own 0", FORMS[40].text)])
        assert pair_ids() == {
            frozenset(("near", "nearer", "own 0")),
            frozenset(("same", "equal")),
            frozenset(("form", "blank")),
        }
        assert set(read) == {"own 0", *(form.id for form in FORMS[20:])}
        store.delete(["own 0", "blank"])
        assert pair_ids() == {frozenset(("near", "nearer")), frozenset(("same", "equal"))}


def test_options_from_arguments() -> None:
    """
    No option means no boilerplate, ignoring alone means above 1 %, and invalid frequencies raise errors.
    """
    assert parse_boilerplate_options(None) is None
    assert parse_boilerplate_options(None, ignore_common=True) == BoilerplateOptions("1%", (), is_ignored=True)
    for texts in (("a",), ["a"], np.array(["a"]), iter(["a"])):
        assert parse_boilerplate_options(None, texts) == BoilerplateOptions(None, ("a",))
    assert parse_boilerplate_options(boilerplate=np.array([], str)) is None
    for above in ("", "0", "101%", "-1"):
        with pytest.raises(ParameterError, match="common text is set by"):
            parse_boilerplate_options(above)
    with pytest.raises(ParameterError, match="above must be text, got 5; such as '50' or '1%'"):
        parse_boilerplate_options(5)  # type: ignore[arg-type]
    for boilerplate in ("one text", b"one text", [5]):
        with pytest.raises(ParameterError, match="boilerplate must be a list of texts, got"):
            parse_boilerplate_options(boilerplate=boilerplate)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="say which text is common"):
        BoilerplateOptions(None)
    with (
        pytest.raises(ParameterError, match="does not work within a part"),
        duplicates_among(
            FORMS, DuplicatesOptions(PAIR_OPTIONS, within="lang", common=BoilerplateOptions(None, ("a",)))
        ),
    ):
        pass
