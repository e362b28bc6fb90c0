"""Writes an HTML report of the differences of two texts: the first text with its changes marked."""

from __future__ import annotations

from collections.abc import Iterator

from whorl.fingerprint.compare_texts import Comparison
from whorl.fingerprint.text_differences import find_differences
from whorl.output.compare_documents import ReadText, warnings
from whorl.output.formatting import percent, plural
from whorl.output.html_pages import html_list, html_text, report_page


def differences_report(a: ReadText, b: ReadText, comparison: Comparison) -> str:
    differences = find_differences(a.text, b.text, comparison)
    shares = comparison.shares
    return report_page(
        "Differences of",
        f"{a.name} and {b.name}",
        [
            f'<p class="total">{plural(len(differences), "difference")}. Of the first text {percent(shares.a_in_b)} is '
            f"in the second, of the second {percent(shares.b_in_a)} in the first.</p>",
            html_list(warnings(comparison)),
            "</header>",
            '<main><div class="text" dir="auto">',
            "".join(_marked(a.text, b.text, [(found.a, found.b) for found in differences])),
            "</div></main>",
            "<footer><p><del>Words of the first text only</del>, <ins>words of the second only</ins>. Case and "
            "punctuation are no difference, nor is a passage that was only moved. Made by whorl.</p></footer>",
        ],
    )


def _marked(a: str, b: str, differences: list[tuple[tuple[int, int], tuple[int, int]]]) -> Iterator[str]:
    """Yield the HTML of A with its differences from B."""
    at = 0
    for (start, end), added in differences:
        yield html_text(a[at:start])
        if start < end:
            yield f"<del>{html_text(a[start:end])}</del>"
        if text := b[slice(*added)]:
            # A range without words is at the end of the word before, or at the beginning.
            before, after = (" " if start == end > 0 else ""), (" " if not end else "")
            yield f"<ins>{before}{html_text(text)}{after}</ins>"
        at = end
    yield html_text(a[at:])
