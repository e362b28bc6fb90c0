"""Prints a comparison of two texts: how much of each is in the other, and passages or differences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from whorl.cli.render.terminal import share_bar
from whorl.fingerprint.compare_texts import Comparison, ResidualOverlap, Size
from whorl.fingerprint.shingling import Scheme
from whorl.fingerprint.text_differences import find_differences
from whorl.operations import CompareOperation
from whorl.output.compare_documents import Lines, ReadText
from whorl.output.formatting import percent, plural, printable

#: Number of characters to show at the beginning, and at the end, of a long passage.
_BEGINNING, _END = 220, 110
#: Number of characters to show before and after a difference.
_CONTEXT = 60
_INDENT = "   "
#: Zero-width joiners in Persian words and emoji, which are not printable, but harmless in a terminal.
_JOINERS = re.compile("([\u200c\u200d])")


def summary_lines(
    a: ReadText, b: ReadText, comparison: Comparison, options: CompareOperation, *, printer: Console
) -> Iterator[Text]:
    yield _side("A", a, comparison.a, comparison.scheme)
    yield _side("B", b, comparison.b, comparison.scheme)
    yield Text()
    shared, of_a, of_b = comparison.shared_shingles, comparison.a.shingles, comparison.b.shingles
    yield _share("jaccard", comparison.shares.jaccard, f"{shared:,} of the {of_a + of_b - shared:,} shingles of both")
    yield _share("A in B", comparison.shares.a_in_b, f"{shared:,} of the {of_a:,} of A")
    yield _share("B in A", comparison.shares.b_in_a, f"{shared:,} of the {of_b:,} of B")
    yield Text()
    if comparison.residual is not None:
        yield from _residual_lines(comparison.residual)
    if options.differences:
        yield from _difference_lines(a, b, comparison, options, printer)
        return
    passages = comparison.passages
    if not passages:
        yield Text(f"No passage of {plural(comparison.scheme.shingle_size, 'word')} or more is in both.")
        return
    covered = (
        f"with {percent(comparison.a.coverage)} of the words of A and {percent(comparison.b.coverage)} of those of B"
    )
    shown = passages[options.start :][: options.rows]
    if options.start and shown:
        part = f"{options.start + 1:,} to {options.start + len(shown):,} by length"
    else:
        part = "the longest" if len(shown) == 1 else f"the longest {len(shown):,}" if shown else "none"
    part = "" if len(shown) == len(passages) else f", {part} shown"
    yield Text(f"{plural(len(passages), 'passage')} in both{part}, {covered}")
    lines_a, lines_b = Lines(a.text), Lines(b.text)
    for number, passage in enumerate(shown, start=options.start + 1):
        where = f"A {place_text(lines_a, passage.a)}, B {place_text(lines_b, passage.b)}"
        yield Text()
        yield Text.assemble((f"{number}. {plural(passage.words, 'word')}", "bold"), (f"  {where}", "dim"))
        yield from _indented(Text(shorten(a.text, *passage.a)), printer)


def _difference_lines(
    a: ReadText, b: ReadText, comparison: Comparison, options: CompareOperation, printer: Console
) -> Iterator[Text]:
    differences = find_differences(a.text, b.text, comparison)
    shown = differences[options.start :][: options.rows]
    part = f"{options.start + 1:,} to {options.start + len(shown):,}" if shown else "none"
    part = "" if len(shown) == len(differences) else f", {part} shown"
    yield Text(f"{plural(len(differences), 'difference')}, in the order of the texts{part}")
    lines_a, lines_b = Lines(a.text), Lines(b.text)
    for number, difference in enumerate(shown, start=options.start + 1):
        where = f"A {place_text(lines_a, difference.a)}, B {place_text(lines_b, difference.b)}"
        yield Text()
        yield Text.assemble((f"{number}.", "bold"), (f"  {where}", "dim"))
        yield from _indented(_in_context(a.text, *difference.a, shorten(b.text, *difference.b)), printer)


def _in_context(text: str, start: int, end: int, only_b: str) -> Text:
    """Return a difference in its context in text A: the range that B lacks, and `only_b`, the part that A lacks."""
    only_a = shorten(text, start, end)
    before, after = _join_lines(text[max(start - _CONTEXT, 0) : start]), _join_lines(text[end : end + _CONTEXT])
    # Cut the context between words, if the text has blanks.
    before = f"… {before.partition(' ')[2] or before}" if start > _CONTEXT else before
    after = f"{after.rpartition(' ')[0] or after} …" if end + _CONTEXT < len(text) else after
    gap_before = " " if before and (not only_a or text[start - 1].isspace()) else ""
    gap_after = " " if text[end : end + 1].isspace() else ""
    marked_a = (f"[-{only_a}-]", "red") if only_a else ""
    marked_b = (f"{{+{only_b}+}}", "green") if only_b else ""
    return Text.assemble(before, gap_before, marked_a, marked_b, gap_after, after)


def _indented(text: Text, printer: Console) -> Iterator[Text]:
    for line in text.wrap(printer, max(printer.width - len(_INDENT), 20)):
        line.rstrip()
        yield Text(_INDENT).append_text(line)


def _residual_lines(residual: ResidualOverlap) -> Iterator[Text]:
    a, b = plural(residual.common_words_a, "word"), plural(residual.common_words_b, "word")
    yield Text(f"Common are {a} of A and {b} of B. Without them:")
    shared, together = residual.shared_shingles, residual.shingles_a + residual.shingles_b - residual.shared_shingles
    yield _share("jaccard", residual.shares.jaccard, f"{shared:,} of {together:,} shingles")
    yield _share("A in B", residual.shares.a_in_b, f"{shared:,} of {residual.shingles_a:,}")
    yield _share("B in A", residual.shares.b_in_a, f"{shared:,} of {residual.shingles_b:,}")
    yield Text()


def _side(side: str, text: ReadText, size: Size, scheme: Scheme) -> Text:
    sizes = (
        f"{plural(size.words, 'word')}, {plural(size.shingles, 'different shingle')} of "
        f"{plural(scheme.shingle_size, 'word')}"
    )
    named = "" if text.kind == "standard input" else f"{text.kind} {printable(text.name)}"
    return Text.assemble((f"{side}  {named or text.kind}", "bold"), f"  {sizes}")


def _share(name: str, share: float, counts: str) -> Text:
    return Text(f"{name:<9}").append_text(share_bar(share)).append(f" {percent(share):>6}  {counts}")


def shorten(text: str, start: int, end: int) -> str:
    """Return a range of a text on one line, with single blanks; a long range is shown without its middle."""
    # A passage may be megabytes long, so split only as much as the output needs.
    enough = 4 * (_BEGINNING + _END)
    if end - start <= enough:
        beginning = ending = _join_lines(text[start:end])
        if len(beginning) <= _BEGINNING + _END:
            return beginning
    else:
        beginning, ending = _join_lines(text[start : start + enough]), _join_lines(text[end - enough : end])
    first, last = beginning[:_BEGINNING], ending[-_END:]
    return f"{first.rpartition(' ')[0] or first} … {last.partition(' ')[2] or last}"


def _join_lines(text: str) -> str:
    parts = _JOINERS.split(" ".join(text.split()))
    return "".join(part if _JOINERS.fullmatch(part) else printable(part) for part in parts)


def place_text(lines: Lines, place: tuple[int, int]) -> str:
    first, last = lines.span(*place)
    lines_shown = f"line {first}" if first == last else f"lines {first}-{last}"
    page = lines.page(place[0])
    return f"{f'page {page}, ' if page else ''}{lines_shown} [{place[0]}:{place[1]}]"
