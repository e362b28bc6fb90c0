"""What a reader of a page sees."""

from __future__ import annotations

import warnings

from whorl.errors import DocumentError

#: Elements that stand on lines of their own.
_BLOCKS = [
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "caption",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "table",
    "td",
    "textarea",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
]


def html_text(markup: str) -> str:
    """Return what a reader of a page sees: no tags, scripts or styles; blocks stand on lines of their own.

    Raises:
        DocumentError: The parser gives up.
    """
    # Imported here: a tenth of a second that only HTML needs.
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    try:
        with warnings.catch_warnings():
            # Of pages that look like XML or are no longer than an address; those are read as well.
            warnings.simplefilter("ignore", UserWarning)
            soup = BeautifulSoup(markup, "html.parser")
    except (ParserRejectedMarkup, ValueError) as error:
        # A character reference of thousands of digits is the ValueError.
        raise DocumentError(f"this HTML cannot be read: {str(error).partition(chr(10))[0]}") from error
    for unseen in soup(["script", "style", "template", "noscript"]):
        unseen.decompose()
    # Words in a row may be parts of one (un<b>believ</b>able), but blocks are apart.
    for block in soup.find_all(_BLOCKS):
        block.insert(0, "\n")
        block.append("\n")
    return soup.get_text()
