"""Makes HTML pages of reports: the frame of a page, lists, and safe HTML of names, texts and passages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from whorl.output.compare_documents import Lines

#: Maximum number of characters to show of a passage, and of the text before and after it.
_LONGEST, _AROUND = 3_000, 160
#: Characters that HTML does not permit, and lone surrogates, which UTF-8 does not permit.
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def report_page(heading: str, subject: str, parts: Iterable[str]) -> str:
    """Return an HTML page without scripts or external resources; its title is `heading` and `subject`."""
    style = files("whorl.output").joinpath("report.css").read_text(encoding="utf-8")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            f"<title>{heading} {html_text(subject)}</title>",
            f"<style>\n{style}</style>",
            f'<header class="top"><h1>{heading} {html_name(subject)}</h1>',
            *parts,
            "</html>\n",
        ]
    )


def html_in_context(content: str, start: int, end: int) -> str:
    """Return the HTML of a range of a text, with the surrounding text."""
    before, after = content[max(0, start - _AROUND) : start], content[end : end + _AROUND]
    return (
        f'<blockquote dir="auto"><span class="around">{"…" if start > _AROUND else ""}{html_text(before)}</span>'
        f"<mark>{html_shortened(content, start, end)}</mark>"
        f'<span class="around">{html_text(after)}{"…" if end + _AROUND < len(content) else ""}</span></blockquote>'
    )


def html_shortened(text: str, start: int, end: int) -> str:
    """Return the HTML of a range of a text; leave out the middle of a long range."""
    if end - start <= _LONGEST:
        return html_text(text[start:end])
    return f"{html_text(text[start : start + _LONGEST // 2])} […] {html_text(text[end - _LONGEST // 2 : end])}"


def lines_named(lines: Lines, place: tuple[int, int]) -> str:
    first, last = lines.span(*place)
    page = lines.page(place[0])
    lines_shown = f"line {first:,}" if first == last else f"lines {first:,}–{last:,}"
    return f"page {page:,}, {lines_shown} of the text" if page else lines_shown


def html_list(items: Iterable[str]) -> str:
    """Return the HTML of a list; "" if it has no items."""
    listed = "".join(f"<li>{html_text(item)}</li>" for item in items)
    return listed and f"<ul>{listed}</ul>"


def html_name(text: str) -> str:
    """Return the HTML of a name, isolated so that a right-to-left name does not reorder the text around it."""
    return f"<bdi>{html_text(text)}</bdi>"


def html_text(text: str) -> str:
    return escape(_NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text))
