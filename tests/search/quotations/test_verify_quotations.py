"""Verdicts on quotations whose truth can be read off the documents."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import cycle
from pathlib import Path

import pytest

from tests.checks import Checks
from whorl import Document, Store, Verdict, VerifiedQuotation, open_store
from whorl.errors import ParameterError, StoppedError, UnknownDocumentError
from whorl.request_context import new_request, reporting
from whorl.search.quotations import verify_quotations

LEASE = (
    "The tenant pays a rent of 1,450 a month, in advance, on the first working day of each month. The landlord keeps "
    "the structure, the roof and the common parts of the building in good repair. Either party may end this lease on "
    "six months' notice in writing after the first year."
)
MINUTES = (
    "Adams reported on the office. The board asked for more infor-\nmation about the well-known costs of the roof, "
    "and the chair promised a written answer by the end of the quarter."
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("quotations") / "store") as opened:
        others = [
            Document(f"filler {number}", f"Nothing of interest stands here, only {number}.") for number in range(20)
        ]
        opened.index([Document("lease", LEASE), Document("minutes", MINUTES), *others])
        yield opened


def judged(store: Store, quote: str, source: str | None = None) -> VerifiedQuotation:
    """Return the verdict on one quotation."""
    (verified,) = store.verify(quotations=[{"quote": quote, "source": source}]).quotations
    return verified


CASES = [
    ("the landlord keeps the structure, the roof and the common parts", None, "exact", ["lease"]),
    ("The LANDLORD keeps the struc-\nture, the roof and the common parts", "lease", "exact", ["lease"]),
    ("[t]he tenant pays a rent of 1,450 a month", "lease", "exact", ["lease"]),
    ("six months’ notice in writing after the first year", None, "exact", ["lease"]),
    ("the landlord keeps the structure," + " " * 90_000 + "the roof and the common parts", None, "exact", ["lease"]),
    ("The *landlord keeps* the **structure**, the roof and the common parts", "lease", "exact", ["lease"]),
    ("good repair.[12] Either party may end [this lease](https://example.org/x) on six", None, "exact", ["lease"]),
    ("good repair.[12] Either", None, "exact", ["lease"]),
    ("The tenant pays a rent of -1,450 a month, in advance", "lease", "edited", ["lease"]),
    ("more information about the well-known costs of the roof", None, "exact", ["minutes"]),
    ("the well-\nknown costs of the roof, and the chair promised", None, "exact", ["minutes"]),
    ("The tenant pays a rent of 1,540 a month, in advance", "lease", "edited", ["lease"]),
    ("The landlord does not keep the structure, the roof and the common parts", None, "edited", ["lease"]),
    ("The tenant pays a rent a month, in advance, on the first working day", None, "edited", ["lease"]),
    ("The tenant pays a rent of 1,450 ... on the first working day", "lease", "stitched", ["lease", "lease"]),
    ("on the first working day [...] The tenant pays a rent of 1,450", "lease", "stitched", ["lease", "lease"]),
    (
        "The tenant pays a rent of 1,450 a month and the chair promised a written answer by the end",
        None,
        "stitched",
        ["lease", "minutes"],
    ),
    ("the chair promised a written answer by the end of the quarter", "lease", "misattributed", ["minutes"]),
    ("the chair promised a written reply by the end of the quarter", "lease", "misattributed", ["minutes"]),
    ("the chair promised a written answer by the end", "nowhere", "misattributed", ["minutes"]),
    ("the moon is made of green cheese and everybody knows it", None, "absent", []),
    ("roof the of costs known well the about mation infor more for asked", None, "absent", []),
    # Fewer than eight words are never edited or stitched.
    ("keeps the roof", None, "absent", []),
    ("in good repair", None, "exact", ["lease"]),
    ("in good repair", "minutes", "misattributed", ["lease"]),
    ("six weeks' notice in writing", None, "absent", []),
    ("= + < > = + < > = +", None, "absent", []),
]


def test_footnote_marks_after_words(tmp_path: Path) -> None:
    """
    Numbers after words are ignored, with a note, where they are footnote marks; where they are indices, they count.
    """
    notes = "The roof[1] of the old house leaks.[2] The tenant[3], who pays the rent, has left the town for good."
    code = "The loop reads names[3], which holds the sum, and it then writes names[4] into the file of all sums."
    with open_store(tmp_path / "store") as store:
        store.index([Document("notes", notes), Document("code", code)])
        found = judged(store, "the tenant, who pays the rent, has left the town for good")
        assert (found.verdict, found.places[0].content) == (Verdict.EXACT, notes)
        assert notes[slice(*found.places[0].document)] == notes[notes.index("The tenant") : -1]
        assert found.notes == ("numbers in brackets after words were taken for footnote marks",)
        again = judged(store, "the tenant[3], who pays the rent, has left the town for good")
        assert (again.verdict, again.notes) == (Verdict.EXACT, ())
        for index in ("", "[4]"):
            other = judged(store, f"The loop reads names{index}, which holds the sum, and it then writes")
            assert other.verdict is Verdict.EDITED


@pytest.mark.parametrize(("quote", "source", "verdict", "ids"), CASES)
def test_verdicts(store: Store, quote: str, source: str | None, verdict: str, ids: list[str]) -> None:
    """
    A quotation gets its verdict, and its places contain the words of the document.
    """
    quotation = judged(store, quote, source)
    assert (quotation.verdict.value, [place.id for place in quotation.places]) == (verdict, ids)
    texts = {"lease": LEASE, "minutes": MINUTES}
    for place in quotation.places:
        assert place.content == texts[place.id]
        for difference in place.differences:
            assert quote[slice(*difference.quote_place)] == difference.quote
            assert place.content[slice(*difference.document_place)] == difference.document


RENT = "In the year after that the rent of the flat changes by {}5 percent each month until it ends."
COMMENTED = "/* {} The word\n = used in\n = the second clause\n = of this lease\n = is rent. */"
COLUMN = (
    "The land-\nlord keeps the struc-\nture of the build-\ning in good re-\npair and in-\n"
    "sures it against\nstorm and fire."
)
SPELLED = [
    ([RENT.format("+"), RENT.format("-")], "the rent of the flat changes by -5 percent each month until it ends", 1),
    ([*map(COMMENTED.format, range(6)), "Used in the second clause of this lease."], "used in the second clause of", 6),
    (
        [*map(COMMENTED.format, range(6)), "Used in the second clause of this lease is it."],
        "the second clause of this lease is it",
        6,
    ),
    ([COLUMN], "The landlord keeps the structure of the building in good repair and insures it against storm", 0),
    (["He keeps the roof–and the walls–in good repair."], "keeps the roof—and the walls—in good repair", 0),
    (["He keeps the roof–and the walls–in good repair."], "He keeps the roof – and the walls – in good repair", 0),
    (["It keeps the Paris–London line in good repair."], "keeps the Paris-London line in good", 0),
    (
        ["It _was_ not the _fault_ of the _tenants_ at _all_ as I said."],
        "It was not the fault of the tenants at all as",
        0,
    ),
    (["One two three four.Five six seven.Eight nine ten"], "two three four. Five six seven. Eight nine", 0),
    (["One two three four.Five six seven.Eight nine ten"], "four. Five", 0),
    (
        [
            *["Keep +5 watch over all of the garden of the farm."] * 30,
            "See.Keep -5 watch over all of the garden of it.",
        ],
        "Keep -5 watch over all of the garden of",
        30,
    ),
    (["房东应当保持房屋的结构和屋顶处于良好状态。"], "持房屋的结", 0),
    (["房东应当保持房屋的结构和屋顶处于良好状态。"], "持房屋的结构和屋顶处于良", 0),
    (["本契約は満了の日に終了する。"], "約は満了の日に終", 0),
]


@pytest.mark.parametrize(("texts", "quote", "holder"), SPELLED)
def test_an_exact_quotation_is_found(tmp_path: Path, texts: list[str], quote: str, holder: int) -> None:
    """
    An exact quotation is found even if the index splits words differently, or if many documents differ only in a sign.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document(str(number), text) for number, text in enumerate(texts)])
        quotation = judged(store, quote)
    assert (quotation.verdict, [place.id for place in quotation.places]) == (Verdict.EXACT, [str(holder)])
    assert quotation.look_up is not None
    assert quotation.look_up.read <= len(texts)


def test_holders_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If more documents than the limit have the words, the answer counts the others and proves no absence.
    """
    monkeypatch.setattr(verify_quotations, "MOST_READ_PER_QUOTATION", 20)
    with open_store(tmp_path / "store") as store:
        store.index([Document(f"{number:03}", COMMENTED.format(number)) for number in range(250)])
        absent = judged(store, "in the second +clause of this lease")
    assert absent.verdict is Verdict.ABSENT
    assert absent.look_up is not None
    assert not absent.look_up.is_complete
    (note,) = absent.notes
    assert note.startswith("230 more documents with its words were not read")


def test_few_of_many_holders_are_read(tmp_path: Path) -> None:
    """
    If many documents have most words of a quotation, only a few are read: they must also have the words that no
    document read so far has.
    """
    words = LEASE.split()
    quotes = [
        " ".join([*words[:8], "otherwise", *words[9:20]]),
        " ".join([*words[:12], *words[30:42]]),
        " ".join([*words[:20:2], *words[1:20:2]]),
    ]
    with open_store(tmp_path / "store") as store:
        store.index([Document(str(number), f"{number} {LEASE}") for number in range(100)])
        for quote in quotes:
            quotation = judged(store, quote)
            assert quotation.look_up is not None
            assert (quotation.look_up.is_complete, quotation.notes) == (True, ())
            assert quotation.look_up.read < 25


def test_signs_alone_require_no_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If no word of a quotation is in the index, no unrelated documents are read, and its absence is not proved.
    """
    read: list[str] = []
    with open_store(tmp_path / "store") as store:
        store.index(
            [Document(f"d{number}", f"{' '.join(map(str, range(number, number + 40)))}") for number in range(9)]
        )
        texts = store.engine.texts

        def note(ids: Collection[str]) -> Mapping[str, str]:
            read.extend(ids)
            return texts(ids)

        monkeypatch.setattr(store.engine, "texts", note)
        verified = judged(store, "alpha § § § § § § § § beta")
    assert (verified.verdict, read) == (Verdict.ABSENT, [])
    assert "its words cannot all be looked up, so its absence is not proved" in verified.notes


def test_a_quotation_of_another_document_than_the_named_one(tmp_path: Path) -> None:
    """
    A quotation that another document has word for word is misattributed, even if it could be stitched from parts of the
    named document.
    """
    words = LEASE.split()
    parts = words[:10], words[20:30]
    with open_store(tmp_path / "store") as store:
        store.index([Document("lease", LEASE), Document("digest", f"In short: {' '.join([*parts[0], *parts[1]])}!")])
        quote = " ".join([*parts[0], *parts[1]])
        assert (judged(store, quote, "lease").verdict, judged(store, quote).verdict) == (
            Verdict.MISATTRIBUTED,
            Verdict.EXACT,
        )
        store.delete(["digest"])
        assert judged(store, quote, "lease").verdict is Verdict.STITCHED


def test_documents_to_exclude(tmp_path: Path) -> None:
    """
    An excluded document is never a source, even if the quotation names it, and the other documents decide the verdict.
    """
    quote = "the landlord keeps the structure, the roof and the common parts"
    draft = f"Of the lease: “{quote}” (lease), and so on."
    with open_store(tmp_path / "store") as store:
        store.index([Document("lease", LEASE), Document("copy", f"Page 2. {LEASE}"), Document("minutes", MINUTES)])
        for exclude, verdict, notes, found in (
            (None, "exact", (), ["lease"]),
            ("id:minutes", "exact", (), ["lease"]),
            ("id:lease", "exact", ("the named source is excluded",), ["copy"]),
            ("landlord", "absent", ("the named source is excluded",), []),
        ):
            (verified,) = store.verify(source=draft, exclude=exclude).quotations
            assert (verified.verdict.value, verified.notes) == (verdict, notes)
            assert [place.id for place in verified.places] == found
        given = [{"quote": quote, "source": "lease"}]
        for verification in (
            store.verify(quotations=given, exclude="id:lease"),
            store.verify(source=json.dumps(given), exclude="id:lease"),
        ):
            assert [place.id for place in verification.quotations[0].places] == ["copy"]
        assert store.verify(source=draft, exclude="id:leese").warnings == (
            "no document matches the query to exclude, 'id:leese'",
        )


@pytest.mark.parametrize("spelling", ["gar-\nden", "_garden_", "garden[^7]", "*garden*"])
def test_a_document_that_spells_a_word_like_no_near_copy(tmp_path: Path, spelling: str) -> None:
    """
    The only holder of a quotation is found among near-copies with another sign, also if it breaks or marks a word.
    """
    text = "After the first year, the tenant may use the {} {}5 days of the week until the lease ends."
    with open_store(tmp_path / "store") as store:
        near = [Document(f"{number:02}", f"{number} {text.format('garden', '+')}") for number in range(30)]
        store.index([*near, Document("other", text.format(spelling, "<"))])
        quotation = judged(store, text.format("garden", "<"))
    assert (quotation.verdict, [place.id for place in quotation.places]) == (Verdict.EXACT, ["other"])


def test_any_run_of_words_is_exact(tmp_path: Path) -> None:
    """
    Every run of words of near-copies is exact, and is found in a document with the run as a substring.
    """
    signs = ["+", "-", "<", ">", "$", "€"]
    texts = {
        f"{sign}{n}": " ".join([*LEASE.split()[:n], f"{sign}5", *LEASE.split()[n:]])
        for sign in signs
        for n in (5, 20, 35)
    }
    with open_store(tmp_path / "store") as store:
        store.index([Document(key, text) for key, text in texts.items()])
        for text in texts.values():
            words = text.split()
            for start in range(0, len(words) - 10, 7):
                for length in (4, 10):
                    quote = " ".join(words[start : start + length])
                    (verified,) = store.verify(quotations=[{"quote": quote}]).quotations
                    assert verified.verdict is Verdict.EXACT, quote
                    assert quote in texts[verified.places[0].id]


def test_differences(store: Store) -> None:
    """
    Differences are the words changed, added and dropped, with the places of both.
    """
    quotation = judged(
        store, "The tenant never pays a rent of 1,540 a month, on the first working day of each month", "lease"
    )
    ((place,), kinds) = (
        quotation.places,
        [(difference.kind, difference.quote, difference.document) for difference in quotation.places[0].differences],
    )
    assert kinds == [("added", "never", ""), ("changed", "1,540", "1,450"), ("dropped", "", "in advance")]
    assert place.content[slice(*place.document)].startswith("The tenant pays")


def test_the_closest_of_several_versions(tmp_path: Path) -> None:
    """
    Two documents have two runs of an edited quotation each; the verdict names the document with fewer edits.
    """
    versions = {
        "a": "Legal permission to copy, distribute and/or alter it. Distribute and/or modify. And/or modify it.",
        "b": "You have the legal permission to copy, distribute and/or modify it.",
    }
    with open_store(tmp_path / "store") as store:
        store.index(Document(key, text) for key, text in versions.items())
        verified = judged(store, "legal permission to sell, distribute and/or modify it")
    assert (verified.verdict, [place.id for place in verified.places]) == (Verdict.EDITED, ["b"])
    assert [(edit.quote, edit.document) for edit in verified.places[0].differences] == [("sell", "copy")]


def test_a_dropped_negation(store: Store) -> None:
    """
    A "not" dropped before the last word is shown as dropped, and the place includes it.
    """
    store.index([Document("rule", "Copies may be made by all tenants, but changing them is not allowed.")])
    quotation = judged(store, "copies may be made by all tenants, but changing them is allowed", "rule")
    (place,) = quotation.places
    assert quotation.verdict is Verdict.EDITED
    assert [(difference.kind, difference.document) for difference in place.differences] == [("dropped", "not")]
    assert place.content[slice(*place.document)].endswith("not allowed")
    store.delete(["rule"])


PARTIES = ("Omikron", "Phi", "Sigma", "Tau", "Rho", "Psi")


@pytest.fixture(scope="module")
def contracts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("brackets") / "store") as opened:
        pairs = [(a, b) for a in PARTIES for b in PARTIES if a != b]
        sentence = "This agreement is made between [{} GmbH, the supplier] and [{} AG, the customer] on the date below."
        opened.index([Document(f"{a} {b}", sentence.format(a, b)) for a, b in pairs])
        opened.index(
            [
                Document("people", "Anna Berg [who lives in Berlin and works in Potsdam every day] came late."),
                Document("rent", "The tenant pays the rent of the office in advance on the first working day."),
            ]
        )
        yield opened


@pytest.mark.parametrize(
    ("quote", "verdict", "document"),
    [
        (
            "This agreement is made between [Tau GmbH, the supplier] and [Rho AG, the customer] on the date below",
            "exact",
            "Tau Rho",
        ),
        ("[who lives in Berlin and works in Potsdam every day]", "exact", "people"),
        ("agreement is made between ... [Psi AG, the customer] on the date below", "stitched", "Omikron Psi"),
        (
            "The tenant pays the rent of the office in advance [emphasis added] on the first working day",
            "exact",
            "rent",
        ),
        ("The tenant pays the *rent* of the [sic] office in advance [Hervorhebung hinzugefügt]", "exact", "rent"),
        ("The tenant pays the rent [c’est nous qui soulignons] of the office in advance", "exact", "rent"),
    ],
)
def test_words_in_brackets_of_a_document(contracts: Store, quote: str, verdict: str, document: str) -> None:
    """
    A document that has the words in brackets is found; remarks of the author who quotes are no words.
    """
    quotation = judged(contracts, quote)
    assert quotation.verdict.value == verdict
    assert quotation.places[0].id == document
    assert not quotation.notes


def test_words_in_brackets_that_no_document_has(contracts: Store) -> None:
    """
    A note or a difference shows words in brackets that the document lacks.
    """
    missing = "the words in brackets are not in the document: "
    invented = judged(
        contracts,
        "This agreement is made between [Hydra GmbH, the supplier] and [Medusa AG, the customer] on the date below",
    )
    assert invented.verdict is Verdict.STITCHED
    assert invented.notes == (f"{missing}'Hydra GmbH, the supplier'", f"{missing}'Medusa AG, the customer'")
    half = judged(
        contracts,
        "This agreement is made between [Tau GmbH, the supplier] and [Medusa AG, the customer] on the date below",
    )
    assert half.verdict is Verdict.EDITED
    assert [difference.quote for difference in half.places[0].differences] == ["Medusa"]
    assert half.places[0].id.startswith("Tau ")
    inserted = judged(contracts, "The tenant [never] pays the rent of the office in advance", "rent")
    assert inserted.verdict is Verdict.STITCHED
    assert inserted.notes == (f"{missing}'never'",)


@pytest.mark.parametrize(
    ("quote", "verdict"),
    [
        ("as we saw above in *NIX the usual way", "exact"),
        ("the usual way, and a note* that says more about it", "exact"),
        ("the tenant pays **the whole rent", "exact"),
        ("whole rent** in advance", "exact"),
        ("the tenant pays the whole rent in advance", "exact"),
        ("__the keys are to be", "exact"),
        ("Every *glob pattern is read from left to right", "exact"),
        ("Every glob pattern is read from left to right", "edited"),
        ("the *tenant pays the whole rent in advance", "edited"),
        ("distribution of it. * * THIS software is provided * as is", "exact"),
        ("care of > all the rooms in good > order", "exact"),
        ("above in *NIX the usual way … distribution of it. * * THIS software is", "stitched"),
    ],
)
def test_marks_of_emphasis_without_a_counterpart(tmp_path: Path, quote: str, verdict: str) -> None:
    """
    Quotations with unpaired marks of emphasis are compared with all marks of the document.
    """
    lines = (
        "This is, as we saw above in *NIX the usual way, and a note* that says more about it.",
        "Then the tenant pays **the whole rent** in advance, and __the keys are to be__ given back.",
        "Every *glob pattern is read from left to right.\n\nA second one follows, and the last* of them.",
        "> The tenant takes care of\n> all the rooms in good\n> order",
        "/*\n * distribution of it.\n *\n * THIS software is provided\n * as is",
    )
    with open_store(tmp_path / "store") as opened:
        opened.index([Document("text", "\n\n".join(lines))])
        assert judged(opened, quote).verdict.value == verdict


def test_a_remark_in_a_document(tmp_path: Path) -> None:
    """
    A document with the same remark in brackets has the quotation word for word.
    """
    with open_store(tmp_path / "store") as opened:
        opened.index([Document("letter", "The tennants [sic] keep the roof in repair [emphasis added] as agreed.")])
        quotation = judged(opened, "The tennants [sic] keep the roof in repair [emphasis added] as agreed")
    assert quotation.verdict is Verdict.EXACT


def test_places_of_parts(store: Store) -> None:
    """
    Each part of a stitched quotation names its range in the quotation.
    """
    quote = "The tenant pays a rent of 1,450 ... on the first working day"
    quotation = judged(store, quote, "lease")
    assert [quote[slice(*place.quote)] for place in quotation.places] == [
        "The tenant pays a rent of 1,450",
        "on the first working day",
    ]


def test_quotations_of_html(store: Store) -> None:
    """
    Elements of HTML are quotations, and their attribute `cite` names the source.
    """
    html = (
        '<p>The lease: <blockquote cite="lease">Either party may end <b>this lease</b> on six months&rsquo; notice'
        '</blockquote> The board: <q cite="minutes">The landlord keeps the structure, the roof and the common parts</q>'
        ", and <q>the moon is made of green cheese and everybody knows it</q></p>"
    )
    quotations = store.verify(source=html).quotations
    assert [
        (verified.quotation.source, verified.verdict.value, [place.id for place in verified.places])
        for verified in quotations
    ] == [
        ("lease", "exact", ["lease"]),
        ("minutes", "misattributed", ["lease"]),
        (None, "absent", []),
    ]


def test_the_proof_of_absence(store: Store) -> None:
    """
    An absent quotation lists the runs that were looked up and the number of documents; a named exact one needs none.
    """
    quote = "the moon is made of green cheese and everybody knows it"
    quotation = judged(store, quote)
    assert quotation.look_up is not None
    assert (quotation.look_up.documents, quotation.look_up.read) == (22, 0)
    words = quote.split()
    assert {*quotation.look_up.runs} == {quote, *(" ".join(words[at : at + 4]) for at in range(len(words) - 3))}
    assert judged(store, "in good repair", "lease").look_up is None


@pytest.mark.parametrize("mark", ["’", "‘", "ʼ", "mixed"])
@pytest.mark.parametrize("words", [{2, 4, 7, 9}, {*range(12)}], ids=["some", "all"])
def test_apostrophes_of_other_kinds(tmp_path: Path, mark: str, words: set[int]) -> None:
    """
    A quotation is found if its document has other apostrophes, and in so many words that no longer run is without.
    """
    quote = [f"l'{word}" if number in words else word for number, word in enumerate(LEASE.split()[16:28])]
    marks = cycle("’ʼ'‘" if mark == "mixed" else mark)
    written = "".join(next(marks) if letter == "'" else letter for letter in " ".join(quote))
    with open_store(tmp_path / "store") as opened:
        opened.index([Document("written", f"She wrote {written} and left."), Document("lease", LEASE)])
        for given in (" ".join(quote), " ".join(quote).replace("'", "’"), " ".join(quote).replace("'", "ʼ")):
            verified = judged(opened, given)
            assert (verified.verdict, [place.id for place in verified.places]) == (Verdict.EXACT, ["written"])


def test_a_document_is_not_its_own_source(store: Store) -> None:
    """
    The quotations of a stored document are looked for in the others.
    """
    store.index([Document("letter", f"It says “{LEASE[:80]}” and “green cheese is the stuff of the moon”.")])
    verification = store.verify("letter")
    assert [quotation.verdict for quotation in verification.quotations] == [Verdict.EXACT, Verdict.ABSENT]
    assert [place.id for place in verification.quotations[0].places] == ["lease"]
    store.delete(["letter"])


def test_a_copy_of_the_text_is_not_a_source(store: Store) -> None:
    """
    A document with the given text proves none of its quotations, nor does a copy of a document; a warning names them.
    """
    text = "It says “green cheese is the stuff of the moon” and “nothing else is up there”[^1].\n\n[^1]: letter"
    store.index([Document("letter", text), Document("letter 2", f"{text}\n")])
    message = "documents with this very text are no sources, so left out "
    for verification, left_out in (
        (store.verify(source=f" {text}"), "'letter', 'letter 2'"),
        (store.verify("letter"), "'letter 2'"),
    ):
        assert [quotation.verdict for quotation in verification.quotations] == [Verdict.ABSENT] * 2
        assert verification.quotations[1].notes == ("the named source is the text itself",)
        assert verification.warnings == (message + left_out,)
    (quotation,) = store.verify(source=f"It says “{text[:48]}”").quotations
    assert (quotation.verdict, quotation.places[0].id) == (Verdict.EXACT, "letter")
    store.delete(["letter", "letter 2"])


def test_selected_quotations(store: Store) -> None:
    """
    Short quotations of a text are left out, every sentence can be checked, and ranges are those of the text.
    """
    text = 'The "so-called" rent. It is "in good repair at all". The landlord keeps the structure.'
    quotes = [quotation.quotation.quote for quotation in store.verify(source=text).quotations]
    assert quotes == ["in good repair at all"]
    verification = store.verify(source=text, all=True, min_words=2)
    assert [text[slice(*(quotation.quotation.place or (0, 0)))] for quotation in verification.quotations] == [
        'The "so-called" rent.',
        'It is "in good repair at all".',
        "The landlord keeps the structure.",
    ]
    assert verification.counts == {"exact": 1, "edited": 0, "stitched": 0, "misattributed": 0, "absent": 2}


def test_a_source_in_prose(store: Store) -> None:
    """
    A footnote that names no document is reported; the quotation is judged by all documents.
    """
    (verified,) = store.verify(source="“keeps the structure, the roof”[^1]\n\n[^1]: Smith, Works").quotations
    assert (verified.verdict, verified.notes) == (Verdict.EXACT, ("the store has no document 'Smith, Works'",))


@pytest.mark.parametrize(
    ("after", "source", "verdict", "notes"),
    [
        (" (house rules)", "house rules", "misattributed", ()),
        (" [house rules]", "house rules", "misattributed", ()),
        (" [./folder/rules.txt]", "./folder/rules.txt", "misattributed", ()),
        (" [the rules](folder/rules.txt)", "[the rules](folder/rules.txt)", "misattributed", ()),
        (" [x](nowhere)", "[x](nowhere)", "exact", ("the store has no document '[x](nowhere)'",)),
        # Brackets often hold something else than a source.
        (" (see above)", None, "exact", ()),
        (" [1]", None, "exact", ("the text has no footnote [1]",)),
        (" [sic]", None, "exact", ()),
    ],
)
def test_sources_by_name_and_path(
    store: Store, after: str, source: str | None, verdict: str, notes: tuple[str, ...]
) -> None:
    """
    A text names a source by its id, name or path, in round or square brackets or by a link.
    """
    store.index([Document("folder/rules.txt", "No music after ten at night, on any day.", "house rules")])
    (verified,) = store.verify(source=f"“keeps the structure, the roof”{after}").quotations
    assert (verified.quotation.source, verified.verdict.value, verified.notes) == (source, verdict, notes)
    given = judged(store, "keeps the structure, the roof", "house rules")
    assert (given.verdict, given.source_id, given.notes) == (Verdict.MISATTRIBUTED, "folder/rules.txt", ())
    given = judged(store, "keeps the structure, the roof", "folder/rules.txt, p. 3; house rules")
    assert (given.verdict, given.source_id, given.notes) == (Verdict.MISATTRIBUTED, "folder/rules.txt", ())
    store.delete(["folder/rules.txt"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quotations": [{"quote": "…"}]}, "quotation 1 has no word: '…'"),
        ({"quotations": [{"quote": "a"}, {"quote": "a" * 100_001}]}, "quotation 2 has 100,001 characters"),
        ({"quotations": [{"quote": "a"}] * 10_001}, "at most 10,000 quotations"),
        ({"quotations": [], "source": "a"}, "give quotations, or a text"),
        ({}, "give the id of a document, a text as source, or quotations"),
        ({"source": "a", "min_words": 0}, "min_words must be at least 1, got 0"),
    ],
)
def test_mistakes(store: Store, arguments: dict[str, object], message: str) -> None:
    """
    Values out of range are named.
    """
    with pytest.raises(ParameterError, match=message):
        store.verify(**arguments)  # type: ignore[arg-type]


def test_an_unknown_document(store: Store) -> None:
    """
    A reference to no document is an error.
    """
    with pytest.raises(UnknownDocumentError):
        store.verify("nowhere")


def test_a_cancelled_request_ends(store: Store) -> None:
    """
    Progress is reported for each quotation, and a cancelled request verifies no further one.
    """
    reports: list[tuple[str, int, int | None]] = []

    def report(step: str, done: int, total: int | None) -> None:
        reports.append((step, done, total))
        request.cancel()

    with new_request() as request, reporting(report), pytest.raises(StoppedError):
        store.verify(quotations=[{"quote": "in good repair"}] * 3)
    assert reports == [("verifying quotations", 0, 3)]


def test_each_comparison_checks(store: Store) -> None:
    """
    A search for the runs or parts of a quotation in a document checks for cancellation at each of them.
    """
    for quote in (" ".join(["the", *(f"nothing{number}" for number in range(300))]), "the rent … " * 300):
        checks = Checks()
        with new_request("", checks):
            judged(store, quote, "lease")
        assert checks.count >= 300


def test_missing_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Documents without a stored text are counted in a warning.
    """
    with open_store(tmp_path / "store") as store:
        store.index([Document("lease", LEASE)])
        monkeypatch.setattr(store.engine, "texts", lambda ids: {})
        verification = store.verify(quotations=[{"quote": "keeps the structure, the roof and the common parts"}])
    assert verification.quotations[0].verdict is Verdict.ABSENT
    assert verification.warnings == ("1 documents were not read: the store keeps no text of them",)
