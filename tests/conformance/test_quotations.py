"""Verdicts on quotations are the same on every engine."""

from __future__ import annotations

from tests.conformance.collection import VOCABULARY
from whorl import Document, Store


def test_verdicts(store: Store, collection: list[Document]) -> None:
    """
    Quotations of a document of 400 words: unchanged, with changed words, in two parts, with another source, unknown.
    """
    documents = {document.id: document.text for document in collection}
    words = documents["f4-0"].split()
    quote = words[100:120]
    changed = [*quote[:10], "otherwise", *quote[11:]]
    cases = [
        (quote, None, "exact"),
        (quote, "f4-0", "exact"),
        ([word.upper() for word in quote], None, "exact"),
        (changed, "f4-0", "edited"),
        (changed, None, "edited"),
        ([*quote, "…", *words[200:210]], "f4-0", "stitched"),
        ([*quote, *documents["f5-0"].split()[300:320]], None, "stitched"),
        (quote, "f5-0", "misattributed"),
        ([*quote[::2], *quote[1::2]], None, "absent"),
        (["unheard", *VOCABULARY[:10:3], "unseen", "unread", "unsaid", "unsung"], None, "absent"),
        (words[100:104], None, "exact"),
        ([words[100], words[102], words[101]], None, "absent"),
        (["房东应当保持房屋的结构和屋顶处于良好状态"], None, "absent"),
        (["the", "tenant", "keeps", "it"], None, "absent"),
    ]
    given = [{"quote": " ".join(quote), "source": source} for quote, source, _ in cases]
    quotations_found = store.verify(quotations=given).quotations
    assert [quotation.verdict.value for quotation in quotations_found] == [verdict for *_, verdict in cases]
    assert quotations_found[0].places[0].content[slice(*quotations_found[0].places[0].document)] == " ".join(quote)
    assert {place.id for place in quotations_found[6].places} <= documents.keys()
    (without_source,) = store.verify(quotations=given[1:2], exclude="id:f4*").quotations
    assert all(not place.id.startswith("f4") for place in without_source.places)
    assert "the named source is excluded" in without_source.notes


def test_one_of_many_near_copies(store: Store) -> None:
    """
    The only document that has the quotation is found among many others with its words, also with a broken word.
    """
    text = "In the year after that the rent of the {} changes by {}5 percent each month until the lease ends."
    others = [Document(f"near {number:02}", text.format("flat", "+")) for number in range(30)]
    exact = [Document("near 98", text.format("flat", "-")), Document("near 99", text.format("gar-\nden", ""))]
    store.index([*others, *exact])
    quotes = [text.format("flat", "-"), text.format("garden", ""), text.format("flat", "<")]
    verified = store.verify(quotations=[{"quote": quote} for quote in quotes]).quotations
    assert [each.verdict.value for each in verified] == ["exact", "exact", "edited"]
    assert [each.places[0].id for each in verified[:2]] == ["near 98", "near 99"]
    assert [each.look_up.is_complete for each in verified if each.look_up] == [True] * 3
    store.delete([document.id for document in (*others, *exact)])


def test_copies_of_a_text(store: Store) -> None:
    """
    Documents with the given text are left out: without the others, its sentences are absent.
    """
    text = "Sentences of a letter that no other document has at all. They are in its copies, though, word for word."
    store.index([Document("letter 1", text), Document("letter 2", text.replace(" ", "\n"))])
    verification = store.verify(source=text, all=True)
    assert [quotation.verdict.value for quotation in verification.quotations] == ["absent", "absent"]
    assert verification.warnings[0].endswith("so left out 'letter 1', 'letter 2'")
    store.delete(["letter 1", "letter 2"])


def test_parts_of_a_file(store: Store) -> None:
    """
    A file that no document is called means the documents whose ids continue its name after `#` or `:`.
    """
    quote = "The board may change the rent of any flat in the house at any time it likes"
    store.index([Document("rules_1.pdf#p1", "Nothing else."), Document("rules_1.pdf:2", quote)])
    store.index([Document(key, "Nothing else.") for key in ("other 1.pdf#p1", "rules_1.pdfx", "rules_1.pdf$")])
    text = f"“{quote}” (rules_1.pdf, p. 2) and “{quote}” (other 1.pdf, p. 1)"
    found, missed = store.verify(source=text).quotations
    assert (found.verdict.value, found.source_id) == ("exact", "rules_1.pdf:2")
    assert found.notes == ("took 'rules_1.pdf' for any of 2 documents: 'rules_1.pdf#p1', 'rules_1.pdf:2'",)
    assert (missed.verdict.value, missed.source_id) == ("misattributed", "other 1.pdf#p1")
    store.delete(["rules_1.pdf#p1", "rules_1.pdf:2", "other 1.pdf#p1", "rules_1.pdfx", "rules_1.pdf$"])
