"""The documents that a text names as sources of its quotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from whorl import Document, Store, Verdict, open_store
from whorl.search.quotations.cited_sources import CitedDocuments
from whorl.search.quotations.extract_quotations import quotations_of

LEASE = "The tenant pays a rent of 1,450 a month. The landlord keeps the structure, the roof and the common parts."
MINUTES = "The chair thanked the board and the chair promised a written answer by the end of the quarter."
UNKNOWN = "the store has no document "
#: What follows a quotation of the lease, the ids of the named documents, and the notes.
NAMED: list[tuple[str, set[str], list[str]]] = [
    (" (rules.txt; lease)", {"rules.txt", "lease"}, []),
    (" (lease, rules.txt)", {"rules.txt", "lease"}, []),
    (" (see rules.txt and a/minutes.md)", {"rules.txt", "a/minutes.md"}, []),
    (" [rules.txt, a/minutes.md]", {"rules.txt", "a/minutes.md"}, []),
    (" [rules.txt][lease]", {"rules.txt", "lease"}, []),
    (" [Rules](rules.txt), [Lease](lease)", {"rules.txt", "lease"}, []),
    (" [1, 2]\n\n[1]: rules.txt\n[2]: lease", {"rules.txt", "lease"}, []),
    (" [1][2]\n\n[1] rules.txt\n[2] lease", {"rules.txt", "lease"}, []),
    ("¹ ²\n\n¹ rules.txt\n² lease", {"rules.txt", "lease"}, []),
    (" [^a][^b]\n\n[^a]: rules.txt\n[^b]: lease", {"rules.txt", "lease"}, []),
    (" [2]\n\n**Sources:**\n\n1. lease\n2. `rules.txt`", {"rules.txt"}, []),
    (" [2]\n\n## Quellen\n1) lease\n\n2) rules.txt, p. 7", {"rules.txt"}, []),
    (" [1]\n\nReferences\n- [1] rules.txt", {"rules.txt"}, []),
    (" [rules.txt:12]", {"rules.txt"}, []),
    (" (rules.txt#page=3; a/minutes.md:7-9)", {"rules.txt", "a/minutes.md"}, []),
    ("\n(rules.txt)\n\nMore.", {"rules.txt"}, []),
    ("【rules.txt】", {"rules.txt"}, []),
    ("【4:0†rules.txt】", {"rules.txt"}, []),
    (" (docs/rules.txt)", {"rules.txt"}, ["took 'docs/rules.txt' for 'rules.txt'"]),
    (" (Rules.TXT; lease)", {"rules.txt", "lease"}, ["took 'Rules.TXT' for 'rules.txt'"]),
    (" (minutes.md)", {"a/minutes.md"}, []),
    (" (nowhere.pdf)", set(), [f"{UNKNOWN}'nowhere.pdf'"]),
    (" [nowhere.pdf, p. 3; lease]", {"lease"}, [f"{UNKNOWN}'nowhere.pdf'"]),
    (
        " [^a]\n\n[^a]: See nowhere.pdf, and\n    rules.txt\n  [^b]: lease",
        {"rules.txt"},
        [f"{UNKNOWN}'See nowhere.pdf'"],
    ),
    ("（rules.txt）", {"rules.txt"}, []),
    (" [3, 4]\n\n[3]: lease", {"lease"}, ["the text has no footnote [4]"]),
    (" [1-3]\n\n[1]: rules.txt\n[2]: lease\n[3]: lease", {"rules.txt", "lease"}, []),
    (" [1–2, 3]\n\n[1]: rules.txt\n[2]: lease", {"rules.txt", "lease"}, ["the text has no footnote [3]"]),
    *(
        (f" [2{place}]\n\n[1]: lease\n[2]: rules.txt", {"rules.txt"}, list[str]())
        for place in (", p. 3", ": 3", ", § 5")
    ),
    (" [[rules.txt]]", {"rules.txt"}, []),
    (" [[rules.txt|the rules]] and", {"rules.txt"}, []),
    (" [[nowhere]]", set(), [f"{UNKNOWN}'nowhere'"]),
    *(
        (f" {form}", {"id-7"}, list[str]())
        for form in (
            "(see id-7)",
            "[Source: id-7]",
            "[cite: id-7]",
            "[1]\n\n[1]: id-7 (page 3)",
            "[1]\n\n[1] id-7 – A title",
        )
    ),
    *(
        (form, {"My title"}, list[str]())
        for form in (
            " (Source: My title)",
            " (vgl. My title, S. 3)",
            "（来源：My title，第3页）",
            "（My title、3ページ）",
        )
    ),
    *(
        (f"{form}", {"rules.txt"}, list[str]())
        for form in (
            " — rules.txt",
            " — *rules.txt*, p. 3\nMore",
            "\n— rules.txt",
            "\n\n— rules.txt",
            " | rules.txt |",
            " | [1] |\n\n[1]: rules.txt",
        )
    ),
    *((f"{form}\n\n[1]: rules.txt", {"rules.txt"}, list[str]()) for form in ("<sup>1</sup>", "<sup>[1]</sup>")),
    (" [^1^]\n\n[^1^]: rules.txt", {"rules.txt"}, []),
    *((f" — {prose}", set[str](), list[str]()) for prose in ("but rules.txt differs.", "as the landlord says")),
    (
        " (parts.pdf, p. 3)",
        {"parts.pdf#p1", "parts.pdf#p2"},
        ["took 'parts.pdf' for any of 2 documents: 'parts.pdf#p1', 'parts.pdf#p2'"],
    ),
    *((f" (rules.txt {place})", {"rules.txt"}, list[str]()) for place in ("at 9", "§ 4.2", "pp. 3-4")),
    (" [parts.md]", {"parts.md:1"}, ["took 'parts.md' for 'parts.md:1'"]),
    (" [x](a%2Fminutes.md)", {"a/minutes.md"}, []),
    (" [x](h%C3%A4user%20a.txt#2)", {"häuser a.txt"}, []),
    (" [x](<häuser a.txt>)", {"häuser a.txt"}, []),
    (' [x](rules.txt "The rules")', {"rules.txt"}, []),
    (" [[1]](rules.txt)", {"rules.txt"}, []),
    (" <https://a.example/x>.", {"https://a.example/x"}, []),
    (": https://a.example/x.", {"https://a.example/x"}, []),
    (" https://a.example/y.", set(), [f"{UNKNOWN}'https://a.example/y.'"]),
    *((f" ({file})", set[str](), [f"{UNKNOWN}'{file}'"]) for file in ("play.tei", "rows.tab", "page.mht")),
    # Other brackets name no source.
    *(
        (f" {other}", set[str](), list[str]())
        for other in ("(emphasis added)", "(2024)", "(e.g. the roof)", "(U.S., p. 3)")
    ),
    *(
        (f" {other}", set[str](), list[str]())
        for other in ("(Node.js 20)", "(see example.org)", "[the landlord]", "[…]")
    ),
    ("\n(see rules.txt) The board agreed.", set(), []),
    (" (if it is as config.txt in the folder says)", set(), []),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    rules = Document("rules.txt", "No music after ten at night, on any day.", "rules.txt")
    with open_store(tmp_path_factory.mktemp("library") / "store") as opened:
        opened.index([rules, Document("a/minutes.md", MINUTES, "minutes.md"), Document("lease", LEASE)])
        others = "häuser a.txt", "https://a.example/x", "id-7", "My title", "parts.pdf#p1", "parts.pdf#p2", "parts.md:1"
        opened.index([Document(key, "Nothing is said here.") for key in (*others, "parts.pdf.bak")])
        yield opened


@pytest.mark.parametrize(("after", "ids", "notes"), NAMED)
def test_named_documents(library: Store, after: str, ids: set[str], notes: list[str]) -> None:
    """
    Each document that the text names right after a quotation is a source; an unknown file or footnote is noted.
    """
    text = f"“keeps the structure, the roof”{after}"
    ((quotation,),) = quotations_of(text)[1:]
    named = CitedDocuments(library.references, quotation.sources)
    found = [document_id for source in quotation.sources for document_id in named.find(source)[0]]
    assert {*found} == ids
    (verified,) = library.verify(source=text).quotations
    assert (verified.verdict is Verdict.EXACT, list(verified.notes)) == (not ids or "lease" in ids, notes)
    assert verified.source_id == ("lease" if "lease" in ids else next(iter(found), None))


@pytest.mark.parametrize("mark", ["*", "**", "_"])
def test_the_source_of_an_emphasised_quotation(library: Store, mark: str) -> None:
    """
    Emphasis around a quotation does not hide its source.
    """
    for source in ("(rules.txt)", "[1]\n\n[1]: rules.txt", "[Rules](rules.txt)"):
        found = library.verify(source=f"{mark}“keeps the structure, the roof”{mark} {source}").quotations
        assert [(each.verdict, each.source_id) for each in found] == [(Verdict.MISATTRIBUTED, "rules.txt")]


def test_a_quotation_stitched_from_two_named_documents(library: Store) -> None:
    """
    The parts of a quotation can be in several named documents.
    """
    parts = "The tenant pays a rent of 1,450 a month", "and the chair promised a written answer by the end"
    (verified,) = library.verify(source=f"“{parts[0]} {parts[1]}” (lease; minutes.md)").quotations
    assert (verified.verdict, [place.id for place in verified.places]) == (Verdict.STITCHED, ["lease", "a/minutes.md"])


def test_folders_of_a_name_that_several_documents_have(tmp_path: Path) -> None:
    """
    A path means the documents whose last folders are most similar to its own.
    """
    rents = {"in/2023/lease.txt#1": "1,450", "in/2024/lease.txt": "1,500", "lease.txt": "900"}
    quotes = {
        key: f"The tenant pays a rent of {rent} a month, in advance, on each first day." for key, rent in rents.items()
    }
    with open_store(tmp_path / "store") as store:
        store.index([Document(key, quote, "lease.txt") for key, quote in quotes.items()])
        for path, key in (("2023/lease.txt", "in/2023/lease.txt#1"), ("..\\2024\\Lease.txt", "in/2024/lease.txt")):
            given = [{"quote": quote, "source": path} for quote in quotes.values()]
            found = {
                each.source_id for each in store.verify(quotations=given).quotations if each.verdict is Verdict.EXACT
            }
            assert found == {key}
        unknown = [{"quote": quote, "source": "2022/lease.txt"} for quote in quotes.values()]
        assert {each.verdict for each in store.verify(quotations=unknown).quotations} == {Verdict.EXACT}


def test_a_name_that_several_documents_have(tmp_path: Path) -> None:
    """
    A name of several documents, such as the parts of one file, means any of them.
    """
    quote = "keeps the structure, the roof"
    filler = [Document(f"r.pdf#{number}", f"Page {number} says nothing.", "r.pdf") for number in range(60)]
    with open_store(tmp_path / "store") as store:
        store.index([*filler, Document("r.pdf#60", LEASE, "r.pdf"), Document("other", MINUTES, "other.txt")])
        for name in ("r.pdf", "R.PDF"):
            note = f"took {name!r} for any of 61 documents: 'r.pdf#0', "
            (right,) = store.verify(quotations=[{"quote": quote, "source": name}]).quotations
            assert (right.verdict, right.source_id) == (Verdict.EXACT, "r.pdf#60")
            assert right.notes[0].startswith(note)
            assert right.notes[0].endswith(" and 56 more")
            (wrong,) = store.verify(source=f"“the chair promised a written answer” ({name})").quotations
            assert wrong.verdict is Verdict.MISATTRIBUTED
            assert wrong.places[0].id == "other"
