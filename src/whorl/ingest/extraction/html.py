"""Visible text of HTML pages."""

from __future__ import annotations

import warnings
from itertools import chain

from whorl.errors import DocumentError

#: Elements that begin and end a line.
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main",
    "nav", "ol", "option", "p", "pre", "section", "select", "table", "td", "textarea", "tfoot", "th", "thead",
    "title", "tr", "ul"
})  # fmt: skip
_UNSEEN = frozenset({"script", "style", "template", "noscript"})


def html_text(markup: str) -> str:
    """Return the visible text of a page, without tags, scripts and styles; block elements are on lines of their own.

    Raises:
        DocumentError: The parser fails.
    """
    # Imported here: it takes a tenth of a second, and only HTML needs it.
    from bs4 import BeautifulSoup, Tag
    from bs4.element import CData, NavigableString
    from bs4.exceptions import ParserRejectedMarkup

    try:
        with warnings.catch_warnings():
            # BeautifulSoup warns about pages that look like XML or are as short as an address.
            warnings.simplefilter("ignore", UserWarning)
            soup = BeautifulSoup(markup, "html.parser")
    except (ParserRejectedMarkup, ValueError) as error:
        # A character reference of thousands of digits raises ValueError.
        raise DocumentError(f"this HTML cannot be read: {str(error).partition(chr(10))[0]}") from error
    # Adjacent strings may be parts of one word (un<b>believ</b>able), but blocks separate words.
    pieces: list[str] = []
    around: list[Tag] = []
    unseen = 0
    for node in chain(soup.descendants, [soup]):
        # A node whose parent is not the innermost open element follows the end of that element.
        while around and node.parent is not around[-1]:
            ended = around.pop()
            unseen -= ended.name in _UNSEEN
            if ended.name in _BLOCKS and not unseen:
                pieces.append("\n")
        if isinstance(node, Tag):
            around.append(node)
            unseen += node.name in _UNSEEN
            if node.name in _BLOCKS and not unseen:
                pieces.append("\n")
        # Comments and declarations are subclasses of NavigableString.
        elif type(node) in (NavigableString, CData) and not unseen:
            pieces.append(str(node))
    return "".join(pieces)
