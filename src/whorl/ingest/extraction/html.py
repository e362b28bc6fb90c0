"""What a reader of a page sees."""

from __future__ import annotations

import warnings
from itertools import chain

from whorl.errors import DocumentError

#: Elements that stand on lines of their own.
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main",
    "nav", "ol", "option", "p", "pre", "section", "select", "table", "td", "textarea", "tfoot", "th", "thead",
    "title", "tr", "ul"
})  # fmt: skip
_UNSEEN = frozenset({"script", "style", "template", "noscript"})


def html_text(markup: str) -> str:
    """Return what a reader of a page sees: no tags, scripts or styles; blocks stand on lines of their own.

    Raises:
        DocumentError: The parser gives up.
    """
    # Imported here: a tenth of a second that only HTML needs.
    from bs4 import BeautifulSoup, Tag
    from bs4.element import CData, NavigableString
    from bs4.exceptions import ParserRejectedMarkup

    try:
        with warnings.catch_warnings():
            # Of pages that look like XML or are no longer than an address; those are read as well.
            warnings.simplefilter("ignore", UserWarning)
            soup = BeautifulSoup(markup, "html.parser")
    except (ParserRejectedMarkup, ValueError) as error:
        # A character reference of thousands of digits is the ValueError.
        raise DocumentError(f"this HTML cannot be read: {str(error).partition(chr(10))[0]}") from error
    # Words in a row may be parts of one (un<b>believ</b>able), but blocks are apart.
    pieces: list[str] = []
    around: list[Tag] = []
    unseen = 0
    for node in chain(soup.descendants, [soup]):
        # What is no child of the innermost element stands behind its end.
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
        # Comments, declarations and such are subclasses.
        elif type(node) in (NavigableString, CData) and not unseen:
            pieces.append(str(node))
    return "".join(pieces)
