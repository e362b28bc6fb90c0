"""Finds the quotations in a text, and the sources that the text names for each quotation.

The source of a quotation can be in a footnote (`[^1]`, `[1, 2]`, `¹`), in a numbered list of sources, in brackets or a
link after the quotation, or in the HTML attribute `cite`. A block quote can also name its source after a dash, in its
last line or in the line after it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from html import unescape
from html.parser import HTMLParser
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from whorl.errors import ParameterError, shorten_repr
from whorl.request_context import require_time, timely
from whorl.search.attribution.excluded_parts import (
    CASED_OR_NUMBER,
    MARKS,
    is_inch_or_ditto,
    quotations_between_marks,
    unify_marks,
)
from whorl.search.quotations.canonical_words import CanonicalText
from whorl.search.quotations.cited_sources import ADDRESS, LINK, NamedSource, has_file_name, read_link, read_source
from whorl.search.quotations.results import GivenQuotation, Quotation

#: Maximum number of quotations in one request, and of characters in a quotation.
MOST_QUOTATIONS, MOST_CHARACTERS = 10_000, 100_000
_BLOCK_START = r"^[ \t]*(?:(?:\d{1,9}[.)]|[-*+])[ \t]+)?(?:>[ \t]?)+"
#: A block quote. In Markdown, a line without a quote mark continues it, but in mail it is usually the reply. So it
#: continues the block only if it begins with a small letter, and the line before it does not end a sentence.
_BLOCK = re.compile(
    rf"(?:{_BLOCK_START}.*(?:\n|\Z)(?:(?<=[^\s.!?…:;>”\"]\n)[ \t]*[^\W\d_A-Z].*(?:\n|\Z))*)+", re.MULTILINE
)
_BLOCK_MARK = re.compile(_BLOCK_START, re.MULTILINE)
#: "Source:" in several languages.
_SOURCE_WORD = (
    r"[*_]{0,3}(?:Sources?|Quellen?|Fuente|Fonte|Bron|Källa|Kilde|Źródło|Источник|来源|出典)[ \t]?[:：][*_]{0,3}"
)
#: A line that begins with a dash or "Source:" and names the source of a block quote: the last line of the block, or the
#: line after it, where a single hyphen is not a dash.
_SOURCE_LINE = re.compile(rf"[ \t]*(?:—|―|–|--+|-|{_SOURCE_WORD})[ \t]*(\S.*)", re.IGNORECASE)
_SOURCE_LINE_AFTER = re.compile(rf"\n?[ \t]*(?:—|―|–|--+|{_SOURCE_WORD})[ \t]*(\S.*)$", re.MULTILINE | re.IGNORECASE)
_SINGLE_MARKS = re.compile(
    rf"(?<![{CASED_OR_NUMBER}])(?:‘([^‘\n]+?)’|‹([^‹›\n]+?)›|›([^‹›\n]+?)‹|‚([^‚\n]+?)[‘’])(?![{CASED_OR_NUMBER}])"
)
_LATEX_MARKS = re.compile(r"(?<!`)``(?!`)((?:[^`\n]|\n(?![^\S\n]*\n))+?)''")
#: Quotations between marks typed as commas or apostrophes: `,,words''`, `,,words"` and `''words''`.
_TYPED_MARKS = re.compile(
    r"(?<![^\s(\[]),,(?=[^\W_])((?:[^,\n]|,(?!,)|\n(?![^\S\n]*\n))+?)(?:(?<!\s)''(?![\w'])|(?<=[\w.!?])[\"“”](?!\w))"
    r"|(?<![^\s(\[])''(?=[^\W_])((?:[^'\n]|'(?!')|\n(?![^\S\n]*\n))+?)(?<!\s)''(?![\w'])"
)
_ANY_MARK = re.compile(f"[{MARKS}]")
_NUMBER_BEFORE = re.compile(r"\d\s{,3}\Z")
_AFTER_SENTENCE = r"['\"”’»)\]」』）】》〉]*"
#: Marks that end a sentence even without a blank after them.
_SENTENCE_MARKS = "。！？｡‼⁇-⁉؟۔।॥։።፧།။។"
_SENTENCE = re.compile(
    rf"\S.*?(?:[.!?]{_AFTER_SENTENCE}(?=\s|\Z)|[{_SENTENCE_MARKS}]+{_AFTER_SENTENCE}|(?=\n[^\S\n]*\n)|\Z)", re.DOTALL
)
#: Marks of Markdown at the start of a line: block quotes, and then a list item, a heading or the row of a table.
_LINE_MARKS = re.compile(
    r"^[ \t]*(?P<quote>(?:>[ \t]?)*)[ \t]*"
    r"(?:(?P<item>(?:[-*+•]|\d{1,3}[.)])[ \t]+)|(?P<heading>\#{1,6}[ \t]+)|(?=(?P<row>\|).*\|[ \t]*$))?",
    re.MULTILINE,
)
#: The full stop of a sentence that ends with brackets. The brackets may hold the sentence's source.
_END_AFTER_BRACKETS = re.compile(r"(?<=[\])])[.!?]\Z")
_MOST_WORDS_OF_SOURCE = 6
#: A page or another place in the source, inside a footnote mark: `[1, p. 3]`, `[1: 3]`.
_PLACE_IN_SOURCE = (
    r"(?:[,;:][ \t]?(?:(?:pp?|pages?|S|Seiten?|ch|chap|sec|lines?|ll?|Z|art|abs|no|nr|vol|fig|tab)\b\.?|§§?)"
    r"[ \t]?\d[\w.,–-]{0,20}|:[ \t]?\d[\d,–-]{0,20})?"
)
#: A footnote mark, or several in one pair of brackets.
_FOOTNOTE_MARK = re.compile(
    rf"\[(\^?[\w.–-]{{1,40}}\^?(?:[ \t]?[,;][ \t]?\^?[\w.–-]{{1,40}}\^?){{0,20}}){_PLACE_IN_SOURCE}\](?!\()"
    r"|([¹²³⁰⁴-⁹]{1,3}|\d{1,3}(?=</sup>))",
    re.IGNORECASE,
)
#: A range of footnote numbers: `1-3`.
_RANGE = re.compile(r"(\d{1,4})[-–](\d{1,4})")
#: Maximum number of words between quotation marks in a footnote that are taken for a title.
_LONGEST_TITLE = 7
_BULLET = r"[ \t]*(?:[-*+][ \t]+)?"
#: A footnote: its label in brackets or its raised digits, its first line, and its further lines, which are indented.
_FOOTNOTE = re.compile(
    rf"^{_BULLET}(?:\[\^?([\w.-]{{1,40}})\^?\][.:]?|([¹²³⁰⁴-⁹]{{1,3}}))[ \t]+(\S.*)"
    rf"(?P<more>(?:\n[ \t]++(?!{_BULLET}[\[¹²³⁰⁴-⁹>])\S.*)*)$",
    re.MULTILINE,
)
#: The heading of a list of sources.
_SOURCES = re.compile(
    r"^[ \t#*_]*+(?:Bibliography|Citations|Footnotes|Notes|References|Sources(?: cited)?|Works cited|Belege|Fußnoten|"
    r"Literatur|Nachweise|Quellen|Références|Fuentes|Referencias|Notas|Fonti|Riferimenti|Note|Bronnen|Referências|"
    r"Fontes|Źródła|Источники|Ссылки|参考文献|参考资料|来源|出典)[ \t:：*_]*$",
    re.MULTILINE | re.IGNORECASE,
)
_LISTED_SOURCE = re.compile(rf"\s*?^{_BULLET}(\d{{1,4}})[.):][ \t]+(\S.*)$", re.MULTILINE)
#: A name in brackets, but not a footnote mark such as `[3]` or `[^1]`, nor the label of a link (before a parenthesis).
_NAME_IN_BRACKETS = (
    r"(?:\[\[(?!\d+\])([^\[\]\n]{1,300})\]\](?!\()|\(([^()\n]{1,300})\)|（([^（）\n]{1,300})）"
    r"|\[(?!\^|\d+\])([^\[\]\n]{1,300})\](?!\()|【(?:\d[\d:]{0,9}†)?([^【】\n]{1,300})】)"
)
_BRACKETS = re.compile(_NAME_IN_BRACKETS)
#: Brackets alone on a line below the quotation.
_NEXT_LINE = re.compile(rf"[ \t.]{{0,3}}\n\n?[ \t]*{_NAME_IN_BRACKETS}[ \t.]*$", re.MULTILINE)
#: A footnote mark, link or name in brackets at the end of a block quote, and its maximum length in characters.
_LAST_SOURCE = re.compile(
    rf"(?<!\s)\s*(?:(?P<mark>{_FOOTNOTE_MARK.pattern})|(?P<link>\(?{LINK.pattern}\)?|\[{LINK.pattern}\]|{ADDRESS.pattern})|{_NAME_IN_BRACKETS})[\s.,;]*\Z"
)
_LONGEST_LAST_SOURCE = 1_000
#: The end of a sentence or of a quotation in marks, or the beginning of a text.
_ENDED = re.compile(rf"(?:\A|[.!?…{_SENTENCE_MARKS}{MARKS}'’›”»])\Z")
#: A name without blanks that is not an ordinary word: `clause-17`, `law/7`.
_IDENTIFIER = re.compile(r"(?=\S*[\W\d_])(?=\S*[^\W\d_])\w\S*\w")
#: Characters between a quotation and its footnote mark, brackets or link, and between two sources. The quotation can be
#: emphasised, or in a cell of a table before its source.
_BEFORE_MARK, _BEFORE_BRACKETS, _BEFORE_LINK, _BETWEEN = (
    re.compile(rf"[{marks}]{{0,{most}}}(?:<sup>)?")
    for marks, most in ((r" \t.,;:!?)*_|", 6), (r" \t.,;:*_|", 6), (" .,;:—–(*_|-", 9), (r" \t,;", 3))
)
#: A link that can be within brackets, after other words: `[see [1](a.txt)]`.
_LINK_IN_BRACKETS = re.compile(rf"(?:\[[^\]\n]{{0,300}})?{LINK.pattern}")
#: The name of a source after a dash or "Source:", in the rest of the line, in the next line, or in the next cell.
_NAME_AFTER_DASH = re.compile(
    rf"[ \t.*_]{{0,5}}(?:(?:\n\n?[ \t]*)?(?:—|―|–|--++|{_SOURCE_WORD})[ \t]*(\S.{{0,300}})$|\|([^|\n]{{1,300}})\|)",
    re.MULTILINE | re.IGNORECASE,
)
#: Maximum number of sources of a quotation, including footnotes that are missing.
_MOST_SOURCES = 20
_HTML = re.compile(
    r"<(?:blockquote|q)\b|\A\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE
)
#: Tags of block elements, and quotation marks written as character references, both outside Markdown code. Even without
#: a match of `_HTML`, a text is HTML if it has such a quotation mark, or the opening and the closing tag of a block
#: element.
_BLOCK_TAG = re.compile(
    r"(?<!`)<(/?)(article|div|h[1-6]|li|main|ol|p|section|table|td|ul)(?:\s[^<>`]*)?>", re.IGNORECASE
)
_CHARACTER_OF_HTML = re.compile(
    r"(?<!`)&(?:[lr]dquo|bdquo|[lr]aquo|#822[0-2]|#x201[cde]);|(?<![`'\"])&(?:quot|#34|#x22);(?![`'\"])", re.IGNORECASE
)
#: The beginning of quotations that are given as JSON: a list of objects, or one object.
_JSON = re.compile(r'\s*(?:\[\s*)?\{\s*"(?:quote|source)"\s*:')
#: Number of characters of HTML to parse at a time.
_PIECE_CHARACTERS = 50_000
#: HTML elements that begin a new line.
_LINES = re.compile(
    "address|article|aside|blockquote|br|dd|details|div|dl|dt|figcaption|figure|h[1-6]|header|hr|li|main|nav|ol|p|pre|"
    "section|summary|table|tr|ul"
)
#: The label of a link to a footnote.
_LINK_MARK = re.compile(r"[\[(]?(?:\d{1,3}|[a-z*†‡])[\])]?")
#: Characters around the name of a source in the footer of a block quote or the caption of a figure.
_AROUND_NAME = " \t\n\xa0—―–-"
#: The first line of a footnote, after any white space at the start of its HTML element.
_FIRST_LINE = re.compile(r"\s{0,1000}(\S[^\n]{0,1000})")
_UNSEEN = frozenset(("script", "style", "template", "title"))


def quotations_of(text: str, *, every_sentence: bool = False) -> tuple[str, list[Quotation]]:
    """Remove HTML from a text; return the text and its quotations in order, without quotations inside quotations.

    The text is plain text, Markdown or HTML. If `every_sentence` is true, each sentence is taken as a quotation.
    """
    marked: list[Quotation] = []
    links: Mapping[int, _HtmlLink] = {}
    if _is_html(text):
        text, marked, links = _quotations_of_html(text)
    footnotes = [*timely(_FOOTNOTE.finditer(text))]
    notes = {
        **_listed_sources(text),
        **{note[1] or note[2]: " ".join((note[3] + note["more"]).split()) for note in footnotes},
    }
    if every_sentence:
        return text, [*_sentences(text, footnotes, notes)]
    blocks = [*_blocks(text)]
    found = [_without_last_sources(block, notes) for block in timely([*marked, *(block for block, _ in blocks)])]
    # Quotation marks of titles in footnotes and links, and in lines that name a source, do not mark a quotation.
    targets = ((link.end(1), link.end()) for link in timely(LINK.finditer(text)))
    is_in_name = _membership([*(line for _, line in blocks), *targets])
    is_in_note = _membership((note.start(), note.end(3)) for note in footnotes)
    for quote, place in _find_between_marks(text):
        is_title = is_in_note(place[0]) and len(CanonicalText(quote).words) <= _LONGEST_TITLE
        if not is_title and not is_in_name(place[0]):
            found.append(Quotation(quote, place))
    return text, [
        quotation
        if quotation.sources or quotation.missing_footnotes
        else _with_sources(quotation, text, end, notes, links)
        for end, quotation in _outermost(found)
    ]


def _outermost(found: Iterable[Quotation]) -> Iterator[tuple[int, Quotation]]:
    """Yield the quotations that are not inside others, in order, each with its end."""
    last_end = 0
    for quotation in timely(sorted(found, key=_place_outermost_first)):
        start, end = quotation.place or (0, 0)
        if start >= last_end:
            yield end, quotation
            last_end = end


def _membership(ranges: Iterable[tuple[int, int]]) -> Callable[[int], bool]:
    """Return a function that checks whether a position is in one of the ranges."""
    sorted_ranges = sorted(ranges)
    starts = [start for start, _ in sorted_ranges]
    # A range may contain another one and end after it, so take the largest end of all ranges so far.
    ends = list(accumulate((end for _, end in sorted_ranges), max))

    def is_member(position: int) -> bool:
        number = bisect_right(starts, position) - 1
        return number >= 0 and position < ends[number]

    return is_member


def _sentences(text: str, footnotes: Iterable[re.Match[str]], notes: Mapping[str, str]) -> Iterator[Quotation]:
    """Yield the sentences of a text, without marks of Markdown and without footnotes that name a file.

    List items, headings and cells of tables are sentences of their own.
    """
    blank: list[tuple[int, int]] = []
    bounds = {0, len(text)}
    was_quote = False
    for line in timely(_LINE_MARKS.finditer(text)):
        start, end = line.span()
        blank.append((start, end))
        line_end = text.find("\n", end) % (len(text) + 1)
        if line["item"] or line["heading"] or was_quote != bool(line["quote"]):
            bounds.add(start)
        if line["heading"] or line["row"]:
            bounds.add(line_end)
        if line["row"]:
            pipes = [at for at in range(end, line_end) if text[at] == "|"]
            blank += [(at, at + 1) for at in pipes]
            bounds.update(pipes)
        was_quote = bool(line["quote"])
    for note in footnotes:
        source = note[3] + note["more"]
        if has_file_name(source) and len(source.split()) <= _MOST_WORDS_OF_SOURCE:
            blank.append(note.span())
            bounds.update(note.span())
    plain = _blank_out(text, blank)
    for start, end in pairwise(sorted(bounds)):
        for found in timely(_SENTENCE.finditer(plain, start, end)):
            sentence = Quotation(found[0], found.span())
            cut = replace(sentence, quote=_END_AFTER_BRACKETS.sub("", found[0]))
            sourced = _without_last_sources(cut, notes)
            yield sourced if sourced.sources or sourced.missing_footnotes else sentence


def _blank_out(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Replace ranges of a text by blanks; the ranges may overlap."""
    pieces, at = [], 0
    for start, end in sorted(ranges):
        pieces += [text[at:start], " " * (end - max(at, start))]
        at = max(at, end)
    return "".join((*pieces, text[at:]))


def _place_outermost_first(quotation: Quotation) -> tuple[int, int]:
    start, end = quotation.place or (0, 0)
    return start, -end


def _is_html(text: str) -> bool:
    if _HTML.search(text) or _CHARACTER_OF_HTML.search(text):
        return True
    opened: set[str] = set()
    for tag in timely(_BLOCK_TAG.finditer(text)):
        element = tag[2].lower()
        if tag[1] and element in opened:
            return True
        opened.add("" if tag[1] else element)
    return False


def count_unpaired_marks(text: str, quotations: Sequence[Quotation]) -> int:
    """Return the number of quotation marks that belong to no quotation; inch and ditto marks are not counted."""
    text = unify_marks(text)
    found = (place for place in quotations_between_marks(text) if not _has_stray_marks(text, *place))
    places = [*(quotation.place for quotation in quotations if quotation.place), *found]
    at, count = 0, 0
    for start, end in [*sorted(places), (len(text), len(text))]:
        for mark in timely(_ANY_MARK.finditer(text, at, max(at, start))):
            count += not (mark[0] == '"' and is_inch_or_ditto(text, mark.start()))
        at = max(at, end)
    return count


def quotations_in_json(text: str) -> list[Any] | None:
    """Return the quotations in a JSON list of objects, an object or lines; None for other texts.

    `read_given_quotations` reads the result.

    Raises:
        ParameterError: The text begins like quotations in JSON, but is broken at the reported position.
    """
    if not text.lstrip().startswith(("[", "{")):
        return None
    is_meant = _JSON.match(text) is not None
    try:
        value = _load_json(text)
    except RecursionError:
        return None
    except ParameterError:
        if not is_meant:
            return None
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if len(lines) > 1 and all(line.lstrip().startswith("{") for _, line in lines):
            return [_load_json(line, number) for number, line in lines]
        raise
    if isinstance(value, list):
        # Take any list of objects, so that a misspelt key is an error, and does not pass for a text without quotations.
        return value if all(isinstance(item, dict) for item in value[:1]) else None
    return [value] if is_meant else None


def _load_json(text: str, first_line: int = 1) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ParameterError(
            f"the quotations are no JSON: {error.msg} in line {first_line + error.lineno - 1}, column {error.colno}, "
            f"near {error.doc[max(0, error.pos - 20) : error.pos + 20]!r}"
        ) from error


def read_given_quotations(listed: object) -> list[Quotation]:
    """Return quotations from objects with a `quote` and an optional `source`; raise ParameterError for other values."""
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise ParameterError(
            'quotations are a list such as [{"quote": "the words", "source": "a document"}], got '
            + shorten_repr(listed)
        )
    quotations = []
    for number, given in enumerate(listed, 1):
        item = asdict(given) if isinstance(given, GivenQuotation) else given
        if not isinstance(item, Mapping) or not {"quote"} <= item.keys() <= {"quote", "source"}:
            raise ParameterError(
                f'quotation {number} must be an object with "quote" and, if you like, "source", got {item!r:.80}'
            )
        quote, source = item["quote"], item.get("source") or None
        if not isinstance(quote, str) or not isinstance(source, str | None):
            raise ParameterError(f"quotation {number}: quote and source are texts, got {item!r:.80}")
        quotations.append(Quotation(quote, None, () if source is None else (read_source(source),)))
    return quotations


def _find_between_marks(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the quotations in quotation marks, each with its range of characters, which includes the marks."""
    for start, end in quotations_between_marks(text):
        if not _has_stray_marks(text, start, end):
            # If the quotation continues in the next paragraph, it has no closing mark here.
            is_closed = end - start > 1 and _ANY_MARK.match(unify_marks(text[end - 1])) is not None
            yield text[start + 1 : end - is_closed], (start, end)
    for pattern in (_SINGLE_MARKS, _LATEX_MARKS, _TYPED_MARKS):
        for found in timely(pattern.finditer(text)):
            yield next(filter(None, found.groups())), found.span()


def _has_stray_marks(text: str, start: int, end: int) -> bool:
    """Check whether a range begins with a straight mark that opens no quotation, such as the sign of inches.

    In a quotation, both marks have a blank on their inner side, or neither has. So a first mark before a blank is stray
    if the last mark does not follow a blank. A mark after a number and before a blank is also stray.
    """
    is_after_number = _NUMBER_BEFORE.search(text, max(0, start - 4), start) is not None
    has_blank = text[start] == '"' and text[start + 1 : start + 2].isspace()
    return has_blank and (is_after_number or not text[end - 2].isspace())


def _blocks(text: str) -> Iterator[tuple[Quotation, tuple[int, int]]]:
    """Yield the block quotes of Markdown and mail, each with the range of the line that names the source."""
    for block in timely(_BLOCK.finditer(text)):
        lines, end = _BLOCK_MARK.sub("", block[0].rstrip("\n")).split("\n"), block.end()
        named = _SOURCE_LINE.fullmatch(lines[-1]) if len(lines) > 1 else None
        if named:
            lines = lines[:-1]
        elif after := _SOURCE_LINE_AFTER.match(text, end):
            named, end = after, after.end()
        sources = (read_source(named[1]),) if named else ()
        yield Quotation("\n".join(lines).strip(), block.span(), sources), (block.end(), end)


def _without_last_sources(quotation: Quotation, notes: Mapping[str, str]) -> Quotation:
    """Move the sources at the end of a block quote's text to its `sources`; remove quotation marks around the text."""
    quote, start = quotation.quote, len(quotation.quote)
    first = max(0, start - _LONGEST_LAST_SOURCE)
    for _ in range(_MOST_SOURCES):
        last = _LAST_SOURCE.search(quote, first, start)
        if not last or not _is_source(last, quote[: last.start()], notes):
            break
        start = last.start()
    named = _with_sources(quotation, " ".join(quote[start:].split()), 0, notes, {})
    if not re.search(r"\w", quote[:start]) or not (named.sources or named.missing_footnotes):
        return replace(quotation, quote=_without_marks(quote))
    sources = dict.fromkeys((*quotation.sources, *named.sources))
    return replace(named, quote=_without_marks(quote[:start]), sources=tuple(sources))


def _is_source(last: re.Match[str], before: str, notes: Mapping[str, str]) -> bool:
    """Check whether brackets, a link or raised digits at the end of a block quote name a source.

    Text in brackets names a source if it contains a file name. After the end of a sentence, text in brackets also names
    a source in two cases: the text is an identifier, or quotation marks enclose the whole quotation.
    """
    has_blank = last[0][0].isspace()
    is_after_end = _ENDED.search(before, max(0, len(before) - 1)) is not None
    if last["mark"]:
        mark = _FOOTNOTE_MARK.match(last["mark"])
        labels = _labels(mark, notes) if mark else []
        is_separate = is_after_end or (has_blank and last["mark"][0] == "[")
        if labels and (is_separate or any(label in notes for label in labels)):
            return True
    if last["link"]:
        return is_after_end or last["link"][0] == "(" or "\n" in last[0][: -len(last[0].lstrip())]
    name = next(filter(None, last.groups()[-5:]), None) or last["mark"].strip("[]")
    if has_file_name(name) or ADDRESS.fullmatch(name) or last[0].strip().startswith("【"):
        return True
    return is_after_end and (_IDENTIFIER.fullmatch(name) is not None or _without_marks(before) != before)


def _without_marks(quote: str) -> str:
    places = [*quotations_between_marks(quote)]
    return quote[1:-1] if places == [(0, len(quote))] else quote


def _listed_sources(text: str) -> dict[str, str]:
    """Return the sources in the numbered lines below the headings of lists of sources, by number."""
    sources = {}
    for heading in timely(_SOURCES.finditer(text)):
        at = heading.end()
        while line := _LISTED_SOURCE.match(text, at):
            sources[line[1]] = line[2]
            at = line.end()
    return sources


def _with_sources(
    quotation: Quotation, text: str, end: int, notes: Mapping[str, str], links: Mapping[int, _HtmlLink]
) -> Quotation:
    """Return a quotation with the sources that the text names right after it; `links` has the links of HTML."""
    sources: dict[NamedSource, None] = {}
    missing: list[str] = []
    at, is_first = end, True
    while len(sources) + len(missing) < _MOST_SOURCES:
        before = (_BEFORE_MARK, _BEFORE_BRACKETS, _BEFORE_LINK) if is_first else (_BETWEEN,) * 3
        # All of these patterns also match the empty text, so `match` never returns None.
        mark_at, name_at, link_at = (marks.match(text, at).end() for marks in before)  # type: ignore[union-attr]
        # The label of an HTML link may begin after an opening bracket.
        if found := links.get(link_at) or links.get(link_at + text.startswith("[", link_at)):
            sources[found.source] = None
            at = found.end
        elif (mark := _FOOTNOTE_MARK.match(text, mark_at)) and (labels := _labels(mark, notes)):
            sources |= {read_source(notes[label]): None for label in labels if label in notes}
            missing += [mark[0] if mark[2] else f"[{label}]" for label in labels if label not in notes]
            at = mark.end()
        elif brackets := _BRACKETS.match(text, name_at) or (_NEXT_LINE.match(text, at) if is_first else None):
            name, is_link = next(filter(None, brackets.groups())), brackets[1] is not None
            sources[read_source(name.partition("|")[0] if is_link else name, is_certain=is_link)] = None
            at = brackets.end()
        elif link := _LINK_IN_BRACKETS.match(text, link_at) or ADDRESS.match(text, link_at):
            sources[read_source(link[0])] = None
            at = link.end()
        elif is_first and (named := _NAME_AFTER_DASH.match(text, at)):
            sources[read_source(named[1] or named[2], is_certain=False, reads_words=False)] = None
            break
        else:
            break
        is_first = False
    return replace(quotation, sources=tuple(sources), missing_footnotes=tuple(missing))


def _labels(mark: re.Match[str], notes: Mapping[str, str]) -> list[str]:
    """Return the labels in a footnote mark; empty if the brackets are not a footnote mark.

    Each label is a number, begins with `^`, or is the label of a note.
    """
    if mark[2]:
        return [mark[2]]
    labels = [label for written in re.split(r"[ \t]?[,;][ \t]?", mark[1]) for label in _labels_in_range(written, notes)]
    plain = [label.strip("^") for label in labels]
    is_mark = all(label[0] == "^" or label.isdecimal() or label in notes for label in labels)
    return plain if is_mark else []


def _labels_in_range(label: str, notes: Mapping[str, str]) -> list[str]:
    """Return the numbers in a range such as `1-3`; the label alone if it is not a range."""
    if label not in notes and (found := _RANGE.fullmatch(label)):
        first, last = int(found[1]), int(found[2])
        if first < last < first + _MOST_SOURCES:
            return [*map(str, range(first, last + 1))]
    return [label]


def _quotations_of_html(html: str) -> tuple[str, list[Quotation], dict[int, _HtmlLink]]:
    """Return the text of HTML, the quotations in its elements, and its links by the start of their labels."""
    parser, start = _QuoteParser(), 0
    while start < len(html):
        require_time()
        # The parser reads an unfinished tag again from its start each time. So pass at least as many new characters as
        # it has kept, to avoid quadratic time.
        end = start + max(_PIECE_CHARACTERS, len(parser.rawdata))
        parser.feed(html[start:end])
        start = end
    # Do not call `close`, which would take quadratic time if tags and comments never end.
    parser.handle_data(unescape(parser.rawdata))
    parser.close_blocks()
    text = "".join(parser.parts)
    links = {
        start: link for start, end, target in parser.links if (link := _html_link(text, start, end, target, parser))
    }
    ends = {link.end: start for start, link in links.items()}
    found = []
    footers = sorted((start, end) for start, end, _ in parser.footers)
    for start, end, cite, caption in timely(parser.quotes):
        last = bisect_right(footers, (end, end)) - 1
        footer = footers[last] if last >= 0 and footers[last][0] >= start else (end, end)
        quote, sources = _without_last_links(text[start : footer[0]], start, links, ends)
        named = (cite or text[slice(*footer)]).strip(_AROUND_NAME)
        if not (named or sources):
            named = text[slice(*caption)].strip(_AROUND_NAME)
        if named:
            sources = (read_source(named),)
        found.append(Quotation(quote.strip(), (start, end), sources))
    return text, found, links


def _without_last_links(
    quote: str, start: int, links: Mapping[int, _HtmlLink], ends: Mapping[int, int]
) -> tuple[str, tuple[NamedSource, ...]]:
    """Cut the links that name sources at the end of a block quote; return the quote and the sources.

    `start` is the position of the quote in the page's text; `ends` maps the end of each link's label to its start.
    """
    sources: dict[NamedSource, None] = {}
    for _ in range(_MOST_SOURCES):
        end = len(quote.rstrip(" \t\n\xa0)]."))
        label = ends.get(start + end, 0) - start
        if label <= 0 or not (_LINK_MARK.fullmatch(quote[label:end]) or _ENDED.search(quote[:label].rstrip())):
            break
        sources[links[start + label].source] = None
        quote = quote[:label].rstrip(" \t\n\xa0([")
    return quote, tuple(sources)


def _html_link(text: str, start: int, end: int, target: str, parser: _QuoteParser) -> _HtmlLink | None:
    """Return a link with the source that it names: the target, or for a link to a footnote, the source in the footnote.

    Return None if the link has no target, points to an unknown place of the page, or leads back from a footnote.
    """
    if not target.startswith("#"):
        return _HtmlLink(end, read_link(text[start:end], target)) if target else None
    at = parser.ids.get(target[1:])
    note = _FIRST_LINE.match(text, at) if at is not None else None
    if not note or note.start(1) <= start < note.end():
        return None
    return _HtmlLink(end, read_source(note[1]))


class _HtmlLink(NamedTuple):
    """A link of HTML: where its label ends in the text, and the source that it names."""

    end: int
    source: NamedSource


class _QuoteParser(HTMLParser):
    """Collects the visible text of HTML, the ranges of quotations, footers and links, and the positions of ids."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        #: Start, end and `cite` of each quotation, and the place of its figure's caption.
        self.quotes: list[tuple[int, int, str, tuple[int, int]]] = []
        #: Links, and footers of block quotes: start and end of the text, and the target of a link ("" for a footer).
        self.links: list[tuple[int, int, str]] = []
        self.footers: list[tuple[int, int, str]] = []
        self.ids: dict[str, int] = {}
        self._started: dict[str, tuple[int, str]] = {}
        #: Start and end of the caption of the last figure.
        self._caption = (0, 0)
        self._open: list[tuple[str, int, str]] = []
        self._open_count: Counter[str] = Counter()
        self._length = self._hidden = 0

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # As in the HTML standard, `<![x[` begins a comment that ends at the next `>`; the inherited method would raise
        # an error.
        return self.parse_bogus_comment(i, report)

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _UNSEEN
        if _LINES.fullmatch(tag):
            self._add("\n")
        values = dict(attrs)
        if identifier := values.get("id"):
            self.ids.setdefault(identifier, self._length)
        if tag == "a" or (tag == "footer" and self._open_count["blockquote"]):
            self._started[tag] = (self._length, values.get("href") or "")
        if tag in ("figure", "figcaption"):
            self._started[tag], self._caption = (self._length, ""), (0, 0)
        if tag in ("q", "blockquote"):
            self._open.append((tag, self._length, values.get("cite") or ""))
            self._open_count[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _UNSEEN and self._hidden > 0
        if tag in self._started:
            start, target = self._started.pop(tag)
            if tag == "figcaption":
                self._caption = (start, self._length)
            elif tag == "figure":
                self._cite_caption(start)
            else:
                (self.links if tag == "a" else self.footers).append((start, self._length, target))
        if self._open_count[tag]:
            while self._open:
                opened, start, cite = self._open.pop()
                self._open_count[opened] -= 1
                self._add_quote(start, cite)
                if opened == tag:
                    break
        if _LINES.fullmatch(tag):
            self._add("\n")

    def _cite_caption(self, start: int) -> None:
        """Set the caption as the source of the quotations in a figure, except quotations in the caption itself.

        `start` is the position where the figure begins.
        """
        first, last = self._caption
        if last - first > _LONGEST_LAST_SOURCE:
            return
        for number in reversed(range(len(self.quotes))):
            begin, end, cite, _ = self.quotes[number]
            if begin < start:
                break
            if not first <= begin < last:
                self.quotes[number] = (begin, end, cite, self._caption)

    def close_blocks(self) -> None:
        for tag, start, cite in reversed(self._open):
            if tag == "blockquote":
                self._add_quote(start, cite)

    def _add_quote(self, start: int, cite: str) -> None:
        """Add a quotation that ends here; drop the quotations inside it, because they could take quadratic memory."""
        while self.quotes and self.quotes[-1][0] >= start:
            self.quotes.pop()
        self.quotes.append((start, self._length, cite, (0, 0)))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._add(data)
