"""Writes checked quotations as JSON, CSV, text or an HTML report that colours each quotation by its verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, ClassVar

from whorl.output.compare_documents import LinedRange, Lines, ReadText
from whorl.output.formatting import plural, write_csv
from whorl.output.html_pages import html_in_context, html_list, html_name, html_text, lines_named, report_page
from whorl.output.json_conversion import values
from whorl.search.quotations.results import Difference, LookUp, QuotedPlace, Verdict, Verification, VerifiedQuotation

#: Columns of the CSV file: a quotation, its verdict, and the first place in a document where it occurs.
COLUMNS = (
    *("verdict", "quote", "words", "source", "id", "name", "start", "end", "first_line", "text", "differences"),
    *("page", "changes", "notes"),
)
#: The meaning of each verdict, and its colour.
MEANINGS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.EXACT: ("is there word for word", "green"),
    Verdict.EDITED: ("is there with changes", "yellow"),
    Verdict.STITCHED: ("is put together from several places", "yellow"),
    Verdict.MISATTRIBUTED: ("is in another document than the named one", "red"),
    Verdict.ABSENT: ("is in no document", "red"),
}
_CLASSES = {"green": "source c2", "yellow": "source c5", "red": "source c7"}


@dataclass(frozen=True, slots=True)
class LinedPlace:
    """A place in a document where a quotation occurs, with its line numbers and its text."""

    JSON_FIELDS = (
        *("id=place.id", "name=place.name", "quote_place=place.quote", "*range", "differences=place.differences"),
    )

    place: QuotedPlace
    range: LinedRange


@dataclass(frozen=True, slots=True)
class ListedQuotation:
    """A quotation, its verdict, and its places in documents; `place` is its range in the quoting text."""

    JSON_FIELDS = (
        *("quote=verified.quotation.quote", "verdict=verified.verdict", "words=verified.words"),
        *("place=verified.quotation.place", "source=verified.quotation.source", "source_id=verified.source_id"),
        *("places", "looked_up=verified.look_up", "notes=verified.notes"),
    )

    verified: VerifiedQuotation
    places: tuple[LinedPlace, ...]


@dataclass(frozen=True, slots=True)
class ListedText:
    """The text whose quotations were checked.

    `name` is "" for a text without a name, and for quotations without a text. `content` is the text without tags if it
    was HTML, otherwise None.
    """

    JSON_FIELDS: ClassVar[tuple[str, ...]] = ("name", "kind", "content?")

    name: str
    kind: str
    content: str | None


@dataclass(frozen=True, slots=True)
class ListedVerification:
    """The checked quotations of a text; `counts` has the number of quotations for each verdict."""

    JSON_FIELDS = (
        *("text", "documents=verification.documents", "counts=verification.counts", "warnings=verification.warnings"),
        "quotations",
    )

    text: ListedText
    verification: Verification
    quotations: tuple[ListedQuotation, ...]


def verification_values(read: ReadText, verification: Verification) -> dict[str, Any]:
    def lined(place: QuotedPlace) -> LinedPlace:
        return LinedPlace(place, Lines(place.content).range(place.document, with_text=True))

    text = ListedText(read.name, read.kind, verification.text if verification.is_html else None)
    quotations = (ListedQuotation(each, tuple(map(lined, each.places))) for each in verification.quotations)
    return values(ListedVerification(text, verification, tuple(quotations)))


def write_quotations(read: ReadText, verification: Verification, out: IO[str]) -> None:
    """Write quotations as CSV, one row per quotation, with its first place."""

    def row(quotation: dict[str, Any], verified: VerifiedQuotation) -> dict[str, Any]:
        place: dict[str, Any] = next(iter(quotation["places"]), {})
        differences = verified.places[0].differences if verified.places else ()
        texts = {"changes": "; ".join(map(difference_text, differences)), "notes": "; ".join(verified.notes)}
        return {**place, **quotation, **texts, "differences": len(differences)}

    listed = verification_values(read, verification)["quotations"]
    write_csv(COLUMNS, map(row, listed, verification.quotations), out)


def totals_line(verification: Verification) -> str:
    if not verification.quotations:
        found = "No quotation found: nothing stands between quotation marks or in a block quote"
        return f"{found} (the option all checks every sentence)."
    counts = ", ".join(f"{number:,} {name}" for name, number in verification.counts.items() if number)
    total = plural(len(verification.quotations), "quotation")
    return f"{total} looked for in {plural(verification.documents, 'document')}: {counts}."


def look_up_line(look_up: LookUp, verdict: Verdict) -> str:
    """Return a line of evidence for a verdict: how many runs of the quotation's words were looked up, and where."""
    runs, documents = plural(len(look_up.runs), "run"), plural(look_up.documents, "document")
    line = f"{runs} of its words looked up in {documents}, {look_up.read:,} read"
    none = "none has it" if look_up.is_complete else "none of these has it"
    return f"{line}: {none}" if verdict is Verdict.ABSENT else line


def colour_of(verdict: Verdict) -> str:
    return MEANINGS[verdict][1]


def difference_text(difference: Difference) -> str:
    quote, document = (" ".join(text.split()) for text in (difference.quote, difference.document))
    if difference.kind == "changed":
        return f"“{quote}” for “{document}”"
    return f"“{quote}” added" if difference.kind == "added" else f"“{document}” dropped"


def quotations_report(read: ReadText, verification: Verification) -> str:
    return report_page(
        "Quotations of",
        read.name or "a text",
        [
            f'<p class="total">{html_text(totals_line(verification))}</p>',
            html_list(verification.warnings),
            "</header>",
            "<main>",
            *_table(verification),
            *_text_part(verification),
            "</main>",
            '<aside aria-label="The quotation and its places">',
            *(_article(number, item) for number, item in enumerate(verification.quotations, 1)),
            '<p class="hint">Choose a coloured quotation: the places where it stands are shown here.</p>',
            "</aside>",
            "<footer><p>Case, line breaks, hyphenation, quotation marks and loose punctuation do not count. Made by "
            "whorl.</p></footer>",
        ],
    )


def _table(verification: Verification) -> Iterator[str]:
    if not verification.quotations:
        return
    yield '<table><caption class="unseen">The quotations and their verdicts</caption><thead><tr>'
    yield from (f'<th scope="col">{title}</th>' for title in ("quotation", "verdict", "words", "place"))
    yield "</tr></thead><tbody>"
    for number, quotation in enumerate(verification.quotations, 1):
        link = f'<a class="{_colour(quotation)}" href="#q{number}"><b>{number}</b> {_beginning(quotation)}</a>'
        place = html_name(quotation.places[0].name or quotation.places[0].id) if quotation.places else ""
        cells = f"<td>{quotation.verdict.value}</td><td>{quotation.words:,}</td><td>{place}</td>"
        yield f'<tr><th scope="row">{link}</th>{cells}</tr>'
    yield "</tbody></table>"


def _text_part(verification: Verification) -> Iterator[str]:
    if not verification.text:
        return
    yield '<section aria-labelledby="text"><h2 id="text">The text</h2><div class="text" dir="auto">'
    at = 0
    for number, verified in enumerate(verification.quotations, 1):
        start, end = verified.quotation.place or (at, at)
        yield html_text(verification.text[at:start])
        part = html_text(verification.text[start:end])
        yield f'<a class="{_colour(verified)}" id="t{number}" href="#q{number}">{part}<sup>{number}</sup></a>'
        at = end
    yield html_text(verification.text[at:])
    yield "</div></section>"


def _article(number: int, quotation: VerifiedQuotation) -> str:
    named = quotation.quotation.source
    parts = [
        f'<article id="q{number}" aria-labelledby="h{number}">',
        f'<h2 id="h{number}"><span class="{_colour(quotation)}"><b>{number}</b> {quotation.verdict.value}</span></h2>',
        f"<p>{plural(quotation.words, 'word')}, {MEANINGS[quotation.verdict][0]}.</p>",
        f'<blockquote dir="auto">{html_text(quotation.quotation.quote)}</blockquote>',
        f"<p>Named source: {html_name(named)}</p>" if named else "",
        *(f"<p>{html_text(note)}</p>" for note in quotation.notes),
        *map(_format_place, quotation.places),
    ]
    if quotation.look_up is not None:
        parts.append(f"<p>{html_text(look_up_line(quotation.look_up, quotation.verdict))}.</p>")
    if quotation.quotation.place is not None:
        parts.append(f'<p class="links"><a href="#t{number}">its place in the text</a></p>')
    return "".join([*parts, "</article>"])


def _format_place(place: QuotedPlace) -> str:
    return (
        f"<h3>In {html_name(place.name or place.id)}, {lines_named(Lines(place.content), place.document)}</h3>"
        + html_in_context(place.content, *place.document)
        + html_list(map(difference_text, place.differences))
    )


def _beginning(quotation: VerifiedQuotation) -> str:
    words = quotation.quotation.quote.split()
    return html_text(" ".join(words[:12]) + (" …" if len(words) > 12 else ""))


def _colour(quotation: VerifiedQuotation) -> str:
    return _CLASSES[colour_of(quotation.verdict)]
