r"""Normalises the words of a text, so that a faithful quotation and its source compare equal.

Some differences are ignored: case, line breaks, hyphenation, quotation marks, loose punctuation, footnote marks and the
targets of links. Others are not: digits with their signs and units, operators, and apostrophes inside words.

>>> CanonicalText("Infor-\n mation – “The tenant’s”, 1.5 %").words
['information', 'the', "tenant's", '1.5%']
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from itertools import accumulate, product

from whorl.fingerprint.words.tokenizer import TYPOGRAPHIC_APOSTROPHES
from whorl.request_context import require_time, timely

#: Stands for an ignored character, so that the positions of all other characters stay the same.
_LEFT_OUT = "\0"
#: Stands for a combining mark while patterns are applied; a letter, so that the patterns see one word.
_MARK = "\ua7f7"
#: Typographic characters, with the keyboard characters that replace them.
_EQUIVALENTS = {
    **dict.fromkeys(TYPOGRAPHIC_APOSTROPHES, "'"),
    **dict.fromkeys("\u00ad‐‑‒–⸗", "-"),
    **dict.fromkeys("—―", " "),
    "٪": "%",
}
#: Units and signs that Unicode counts as punctuation.
_KEPT_PUNCTUATION = frozenset("‰‱′″§†‡·")
#: Control characters that reorder the following characters on the screen.
_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LIGATURES = str.maketrans({code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)})
#: Scripts without blanks between words. Each character of these scripts counts as a word.
_NO_BLANKS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u3098\u309b-\u312f\u3190-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
#: A character with its combining marks; in Burmese, a letter with the vowel sign that NFC joins to it.
_CHARACTER = rf"\u1025\0*\u102e|[{_NO_BLANKS}](?:\0*[\u0300-\u036f\u3099\u309a])*"
_UNSPACED = re.compile(_CHARACTER)
_WORD = re.compile(rf"{_CHARACTER}|[^\s{_NO_BLANKS}]+")
_LETTER = r"[^\W\d_]"
# Each pattern first matches the character to replace, and only then checks the character before it: `re` can then jump
# from one such character to the next.

#: A letter in square brackets, changed by the author who quotes: `[T]he`.
_CHANGED_LETTER = re.compile(rf"\[(?<!\w\[)({_LETTER}{_MARK}*)\](?={_LETTER})")
#: Emphasis in Markdown, but not `*p` or `__init__`.
_EMPHASIS = re.compile(r"(\*(?<![\w*]\*)\*{0,2}|_(?<![\w*]_))(?=[^\W_])([^*_]{1,300})(?<!\s)\1(?![\w*])")
#: Emphasis as in `__several words__`; a single word between underscores can be a name, such as `__init__`.
_STRONG = re.compile(r"(__(?<!\w__))(?=[^\W_])([^*_]{1,300}?\s[^*_]{0,300}?)(?<!\s)\1(?!\w)")
#: A blank line ends a paragraph, and with it emphasis and lists.
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
#: A mark in canonical words: an emphasis mark without a counterpart, or a sign that was not read as a line mark.
_LONE_MARK = re.compile(r"\*| _|_ | [+>|#] ")
_WORDS_WITH_MARKS = re.compile(r"(?<= )[^\s*_+>|#]*[*_+>|#]\S*(?= )")
_MARKS_OF_EMPHASIS = ("", "*", "**", "***", "_", "__")
#: A footnote mark at the end of a sentence (`end.[3] The`, `end.³`), or in Markdown (`word[^3]`). Elsewhere, a number
#: in brackets can be an index (`x[3]`, `f(a,[3])`, in F# `items.[3]`), and a raised number an exponent (`m²`).
_FOOTNOTE_MARK = re.compile(
    r"[\[¹²³⁰⁴-⁹](?:(?<=[\w\0][.!?].)(?:(?<=\[)\d{1,3}(?:,? \d{1,3}|[,-]\d{1,3}){0,9}\]|(?<!\[)[¹²³⁰⁴-⁹]{0,2})"
    r"(?:\[\d{1,3}\]|[¹²³⁰⁴-⁹]{1,3})*"
    r"(?=\0*\s+[^\W\d_a-z]|[\s\0]*\Z)"
    rf"|(?:(?<=\w[.,;:!?]\[)|(?<={_LETTER}{{2}}\[))\^[\w-]{{1,40}}\](?:\[\^[\w-]{{1,40}}\])*(?=[\s.,;:!?)]|\Z))"
)
#: A footnote mark after a comma or semicolon: `end,[1, 2] it`, `end,² it`, or a letter in brackets.
_FOOTNOTE_AFTER_COMMA = re.compile(
    r"[\[¹²³⁰⁴-⁹](?:(?<=\w[,;]\[)(?:\d{1,3}(?:,? \d{1,3}|[,-]\d{1,3}){0,9}|[a-z])\]|(?<=\w[,;][¹²³⁰⁴-⁹])[¹²³⁰⁴-⁹]{0,2})"
    rf"(?:\[\d{{1,3}}\]){{0,9}}(?=\0*\s+{_LETTER}|[\s\0]*\Z)"
)
_LONGEST_WORD = 60
#: An ordinary word or a year, with its comma or semicolon, before a mark of `_FOOTNOTE_AFTER_COMMA`; not the argument
#: in `f(ab,[3] and c)`.
_PLAIN_WORD = re.compile(rf"(?:\A|[\s\"'])(?:[\w'-]*{_LETTER}{{2}}[\w'-]*|\d{{4}})[,;]\Z")
#: Wikipedia's marks for editors (`[citation needed]`, `[who?]`) and for notes (`[note 1]`).
_EDITOR_MARK = re.compile(
    r"\[(?<=[^\s\[]\[)(?:(?:citation|clarification|verification|page|better source|full citation) needed"
    r"|failed verification|(?:(?:according to |by )?whom|who|when|where|which)\?|(?:note|nb) \d{1,3})\]",
    re.IGNORECASE,
)
#: A number in brackets without a blank before it: the mark of a footnote, or an index.
_NUMBER = re.compile(r"\[(?<=[^\s(\[]\[)(\d{1,3})\]")
_NUMBERS_AFTER_WORD = re.compile(rf"\[(?<={_LETTER}{{2}}\[)\d{{1,3}}\](?:\[\d{{1,3}}\])*(?=[.,;:!?]?(?:[\s\"'”’)]|\Z))")
#: Minimum number of different footnotes for numbers in brackets to be read as footnote marks.
_FEWEST_FOOTNOTES = 3
#: A link in Markdown with its label and target, but not a call such as `names[i](x)`.
_LINK_TARGET = re.compile(
    r"(\[(?<![\w)\]]\[)[^\[\]\n]{1,300})(\]\((?=[^()\s]*[./#:])(?:[^()\s]|\([^()\s]*\)){1,1000}\))"
)
#: An en dash between letters: a hyphen (`Paris–London`) or a dash (`the roof–and the walls`).
_EN_DASH = re.compile(rf"(?<={_LETTER})–(?=\s*{_LETTER})")
_HYPHEN = re.compile(rf"-(?<={_LETTER}-)\s*(?={_LETTER})")
#: A sign that can stand for a hyphen at the end of a line in digitised texts; elsewhere it is an operator.
_HYPHEN_SIGN = re.compile(rf"[¬=](?<={_LETTER}.)\s+(?={_LETTER})")
_MINUS = re.compile("\N{MINUS SIGN}(?=[.$€£¥]?\\d)")
#: Position where a long text may be cut.
_CUT = re.compile(rf"(?<![-\s\u00ad‐‑⸗¬=])(?=\s[^\s%°‰])|(?<=[{_NO_BLANKS}])(?=[{_NO_BLANKS}])")
_PIECE_CHARACTERS = 100_000
#: Two or more quoted lines of Markdown or mail, or lines of a comment; a single line could begin with an operator.
_QUOTED_LINES = re.compile(r"\n[ \t]*(?:>(?!=).*(?:\n[ \t]*>(?!=).*)+|#(?!\S).*(?:\n[ \t]*#(?!\S).*)+)")
_QUOTE_MARKS = re.compile(r"^[ \t]*(?:>(?:[ \t]?>)*|#)", re.MULTILINE)
#: Two or more lines of a frame or a table, which have the same mark at their start and end.
_FRAMED_LINES = re.compile(r"\n[ \t]*([*|#])[ \t](?:.*[ \t])?\1[ \t]*(?:\n[ \t]*\1[ \t](?:.*[ \t])?\1[ \t]*)+(?!.)")
_FRAME_MARKS = re.compile(r"^[ \t]*[*|#]|[*|#][ \t]*$", re.MULTILINE)
#: `*` or `+` at the start of a line: the mark of a list in Markdown or of a line in a comment, or an operator.
_LIST_MARK = re.compile(r"\n[ \t]*([*+])(?=[ \t])")
_BEFORE_LIST = re.compile(r"(?:\A|\n[^\S\n]{0,9}|(?:[.:;!?]|[/*]\*)[^\S\n]{0,9})\Z")
_NEXT_STAR = re.compile(r".*\n[ \t]*\*[ \t]")
#: A line break in Markdown.
_HARD_BREAK = re.compile(
    r"[\\<](?:(?<=\\)(?<!\\\\)(?=[ \t]*(?:\n|\Z))"
    r"|(?<=<)(?:br|BR)[ \t]?/?>(?:(?=[ \t]*(?:\n|\Z))|(?<=[\w.,;:!?)*]<br>)|(?<=[\w.,;:!?)*]<br/>)))"
)
_UNIT = re.compile(r"\s(?<=\d\s)\s*(?=[%°‰])")
_LOOSE = re.compile(
    r"[\"'`;?!\[\](){}.,:/·-](?:(?<=[\"`;?\[\]{}])|(?<=')(?:(?<!\w')|(?!\w))"
    # Keep the parentheses of a call, `foo()`, and the exclamation mark of a factorial, `n!`, as characters of the word.
    r"|(?<=\()(?:(?<!\w\()|(?!\)))|(?<=\))(?<!\w\(\))|(?<=!)(?:(?<!\w!)(?![\w=])|(?<=[^\W\d]{2}!))"
    rf"|(?<=[.,])(?![\d/])|(?<=:)(?![\d/=])|(?<={_LETTER}[.,:])|(?<=,)(?<!\w,)|(?<=:)(?<!\w:)(?!=)"
    rf"|(?<=-)(?:(?!\d|[.$€£¥]\d| \d)|(?<={_LETTER}-))"
    r"|(?<=·)(?:(?!\d)|(?<!\d·))"
    rf"|(?<=/)(?:(?<={_LETTER}/)(?!\d)|(?![\w=])))"
)


def is_unspaced(word: str) -> bool:
    return _UNSPACED.match(word) is not None


class _Characters(dict[int, str]):
    """Table for `str.translate` that replaces each character by its canonical form, computed on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if 0xFF01 <= code <= 0xFF5E:
            replaced = chr(code - 0xFEE0)
        elif category[0] == "M":
            replaced = _MARK
        elif character in _EQUIVALENTS:
            replaced = _EQUIVALENTS[character]
        elif category == "Cf":
            replaced = character if character in _REORDERING else _LEFT_OUT
        elif category[0] in "ZC" or (category[0] == "P" and code >= 0x80 and character not in _KEPT_PUNCTUATION):
            replaced = " "
        else:
            replaced = character
        self[code] = replaced
        return replaced


_CHARACTERS = _Characters()


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces; a piece ends before a blank, or between characters of a script without blanks.

    No piece ends with a hyphen, because the words before and after the hyphen may form one word.
    """
    start = 0
    while start < len(text):
        cut = _CUT.search(text, start + _PIECE_CHARACTERS)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end


def _blank_line_marks(text: str) -> str:
    """Replace the marks of quoted lines, frames, lists and line breaks by blanks; the length stays the same."""
    # Put a line break before the first line. Then each line follows a line break, and `re` can jump from break to
    # break.
    text = f"\n{_HARD_BREAK.sub(_blanks, text)}"
    text = _FRAMED_LINES.sub(lambda lines: _FRAME_MARKS.sub(_blanks, lines[0]), text)
    text = _QUOTED_LINES.sub(lambda lines: _QUOTE_MARKS.sub(_blanks, lines[0]), text)
    pieces, at, last = [], 1, 0
    for mark in timely(_LIST_MARK.finditer(text)):
        start, end = mark.start(), mark.end()
        if last and _PARAGRAPH_END.search(text, last, start + 1):
            last = 0
        is_list = last > 0 or _BEFORE_LIST.search(text, max(0, start - 10), start) is not None
        if is_list or (mark[1] == "*" and _NEXT_STAR.match(text, end)):
            pieces += [text[at : end - 1], " "]
            at = last = end
    return "".join((*pieces, text[at:]))


def _blanks(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _replace_ignored(text: str, *, keeps_marks: bool) -> str:
    """Replace the ignored characters by blanks or `_LEFT_OUT`; the length stays the same."""
    replaced = text.translate(_CHARACTERS)
    replaced = _CHANGED_LETTER.sub(rf"{_LEFT_OUT}\1{_LEFT_OUT}", replaced)
    replaced = _LINK_TARGET.sub(lambda found: found[1] + _LEFT_OUT * len(found[2]), replaced)
    for pattern in () if keeps_marks else (_EMPHASIS, _STRONG):
        replaced = pattern.sub(partial(_without_emphasis, text), replaced)
    replaced = _FOOTNOTE_AFTER_COMMA.sub(_without_mark, replaced)
    for pattern in (_EDITOR_MARK, _FOOTNOTE_MARK, _HYPHEN):
        replaced = pattern.sub(lambda found: _LEFT_OUT * len(found[0]), replaced)
    replaced = _HYPHEN_SIGN.sub(partial(_without_line_end, text), replaced)
    replaced = _UNIT.sub(partial(_without_blanks, text), replaced)
    # Replace a minus sign before a number by a hyphen only after loose punctuation, which includes hyphens, is removed.
    replaced = _MINUS.sub("-", _LOOSE.sub(" ", replaced))
    # Put back the combining marks of the original text, which has the same positions.
    return replaced if text.isascii() else re.sub(_MARK, lambda found: text[found.start()], replaced)


def _fold_words(replaced: str) -> list[str]:
    folded = replaced.replace(_LEFT_OUT, "")
    if not folded.isascii():
        folded = _UNSPACED.sub(r" \g<0> ", unicodedata.normalize("NFC", folded))
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", folded).translate(_LIGATURES).casefold())
    return folded.casefold().split()


def _without_mark(found: re.Match[str]) -> str:
    before = found.string[max(found.start() - _LONGEST_WORD, 0) : found.start()]
    return _LEFT_OUT * len(found[0]) if _PLAIN_WORD.search(before) else found[0]


def _without_blanks(text: str, found: re.Match[str]) -> str:
    return found[0] if _PARAGRAPH_END.search(text, *found.span()) else _LEFT_OUT * len(found[0])


def _without_line_end(text: str, found: re.Match[str]) -> str:
    return _LEFT_OUT * len(found[0]) if "\n" in text[found.start() : found.end()] else found[0]


def _without_emphasis(text: str, found: re.Match[str]) -> str:
    if _PARAGRAPH_END.search(text, *found.span()):
        return found[0]
    marks = _LEFT_OUT * len(found[1])
    return f"{marks}{found[2]}{marks}"


class CanonicalText:
    """A text in canonical form: `words` has its words; `joined` has them in one string, with blanks around each."""

    def __init__(self, text: str, *, keeps_marks: bool = False) -> None:
        self.text = text
        cut = _pieces(text if keeps_marks else _blank_line_marks(text))
        pieces = [_replace_ignored(piece, keeps_marks=keeps_marks) for piece in timely(cut, 1)]
        self._replaced = "".join(pieces)
        self.words = [word for piece in timely(pieces, 1) for word in _fold_words(piece)]
        self.joined = f" {' '.join(self.words)} "

    def find(self, words: Sequence[str], start: int = 0) -> int | None:
        """Return the index where a non-empty run of words first occurs at or after the word `start`, or None."""
        require_time()
        if start >= len(self.words):
            return None
        # Search the joined text first: this is faster, and most texts do not contain the words.
        at = self.joined.find(f" {' '.join(words)} ", self._starts[start] - 1 if start else 0)
        return None if at < 0 else bisect_right(self._starts, at + 1) - 1

    def find_with_marks(self, words: Sequence[str]) -> int | None:
        """Return the index of a run of words, even if this text has an emphasis mark before or after it, or None."""
        for before, after in product(_MARKS_OF_EMPHASIS, repeat=2):
            run = [before + words[0], *words[1:]]
            run[-1] += after
            if (at := self.find(run)) is not None:
                return at
        return None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return the range of characters that a half-open, non-empty range of words takes in the text."""
        return self._spans[start][0], self._spans[end - 1][1]

    @cached_property
    def readings(self) -> tuple[CanonicalText, ...]:
        """This text, where an en dash between letters is a hyphen, and a version where it is a dash.

        An en dash can stand for either. Without an en dash between letters, the result is only this text.
        """
        dashed = _EN_DASH.sub("—", self.text) if "–" in self.text else self.text
        return (self,) if dashed == self.text else (self, CanonicalText(dashed))

    @cached_property
    def has_lone_marks(self) -> bool:
        """Whether the words contain an unpaired emphasis mark, or a sign that can begin a line, such as `#`."""
        return _LONE_MARK.search(self.joined) is not None

    @cached_property
    def as_typed(self) -> CanonicalText:
        """The canonical form that keeps all emphasis marks and all marks at the start of lines."""
        return CanonicalText(self.text, keeps_marks=True)

    @cached_property
    def longest_unmarked_run(self) -> str:
        """The longest run of words without emphasis or line marks; the text's first and last word are left out.

        A document that contains this text with all of its marks also contains the run.
        """
        inner = " ".join(("", *self.as_typed.words[1:-1], ""))
        return max(_WORDS_WITH_MARKS.split(inner), key=len, default=" ")

    @cached_property
    def is_footnoted(self) -> bool:
        """Whether the numbers in brackets are footnote marks, not indices.

        They count from 1 without gaps to at least `_FEWEST_FOOTNOTES`, at least one follows the end of a sentence, and
        no word has two different numbers.
        """
        last, is_at_end, numbers = 0, False, dict[str, str]()
        for found in timely(_NUMBER.finditer(self.text)):
            at, number = found.start(), int(found[1])
            if not 0 < number <= last + 1:
                return False
            last = max(last, number)
            is_at_end |= self.text[at - 1] in ".!?" and self.text[at - 2 : at - 1].isalnum()
            word = re.search(r"\w*\Z", self.text[max(at - _LONGEST_WORD, 0) : at])
            if word and word[0] and numbers.setdefault(word[0], found[1]) != found[1]:
                return False
        return is_at_end and last >= _FEWEST_FOOTNOTES

    @cached_property
    def without_numbers(self) -> CanonicalText:
        """This text without numbers in brackets after words; positions stay the same."""
        blanked = _NUMBERS_AFTER_WORD.sub(lambda found: " " * len(found[0]), self.text)
        if blanked == self.text:
            return self
        without = CanonicalText(blanked)
        without.text = self.text
        return without

    @cached_property
    def _starts(self) -> Sequence[int]:
        return list(accumulate((len(word) + 1 for word in self.words), initial=1))[:-1]

    @cached_property
    def _spans(self) -> Sequence[tuple[int, int]]:
        """Range of characters of each word in the text."""
        spans = []
        for found in timely(_WORD.finditer(self._replaced)):
            raw, (start, end) = found[0], found.span()
            if _LEFT_OUT in raw:
                start += len(raw) - len(raw.lstrip(_LEFT_OUT))
                end -= len(raw) - len(raw.rstrip(_LEFT_OUT))
            if start < end:
                spans.append((start, end))
        return spans
