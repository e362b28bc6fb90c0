"""Splits text in scripts without spaces (Thai, Chinese, Japanese) into words with dictionaries, as ICU4J does.

Each Chinese or Japanese word has a cost, and the split with the lowest total cost wins. In Thai, Lao, Khmer and Burmese
text, the next word is the longest word that two more words can follow. The dictionaries are ICU's files, compressed.
"""

from __future__ import annotations

import gzip
import struct
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import takewhile

from whorl.fingerprint.words.wordbreak import TABLES, WordBreakTables

#: Engine numbers of ``WordBreakTables.engine``.
THAI, LAO, KHMER, BURMESE, CJK, HANGUL = range(1, 7)
#: Bits of ``WordBreakTables.role``.
BEGINS_WORD, ENDS_WORD, MARK, SUFFIX = 1, 2, 4, 8

#: From ICU4J's CjkBreakEngine: maximum length of a word to look up, and cost of a single character that is not a word.
LONGEST_WORD, UNKNOWN_COST = 20, 255
#: From ICU4J's CjkBreakEngine: costs of runs of 0 to 8 Katakana characters, and cost of a longer run. They do not apply
#: to runs of `KATAKANA_LIMIT` characters or more.
KATAKANA_COSTS, KATAKANA_COST_LONG, KATAKANA_LIMIT = (8192, 984, 408, 240, 204, 252, 300, 372, 480), 8192, 20

#: From ICU4J's ThaiBreakEngine and its siblings. Characters that form no word are joined to the preceding word under
#: two conditions. The word has fewer than `ROOT_COMBINE_THRESHOLD` characters. A dictionary look-up of the characters
#: after it reads fewer than `PREFIX_COMBINE_THRESHOLD` of them before it fails.
ROOT_COMBINE_THRESHOLD = PREFIX_COMBINE_THRESHOLD = 3
#: From ICU4J's DictionaryBreakEngine.PossibleWord: maximum number of words to consider at one position.
POSSIBLE_WORDS = 20
PAIYANNOI, MAIYAMOK = "\u0e2f", "\u0e46"


class Dictionaries:
    """The dictionary engines of one profile, which divide segments into words. An engine is created on first use."""

    def __init__(self, tables: WordBreakTables, compose: Callable[[str], str]) -> None:
        self.tables, self.compose = tables, compose
        self.engine = cache(self._make_engine)

    @cached_property
    def _number(self) -> bytes:
        return self.tables.engine.tobytes()

    def divide(self, segment: str, needs_dictionary: Callable[[str], bool]) -> list[int]:
        """Return the positions in a segment where words end, like ICU4J's DictionaryCache.populateDictionary.

        An engine divides a span of the segment. A span begins at a character whose category needs a dictionary, and
        ends before a character unknown to its engine. A character without an engine is skipped with the following
        characters of its script.

        ICU4J remembers the script of such a character, and skips the script in all later texts of the process. This
        function does not, so that the words of a text depend only on the text itself. The results differ only if a span
        begins with the prolonged sound mark (U+30FC, U+FF70).
        """
        number = [self._number[ord(character)] for character in segment]
        breaks: list[int] = []
        start, limit = 0, len(segment)
        while start < limit:
            if not needs_dictionary(segment[start]):
                start += 1
                continue
            end = start + 1
            if number[start]:
                while end < limit and number[end] == number[start]:
                    end += 1
                # Hangul stays undivided, as in ICU: its dictionary has no Hangul words.
                if number[start] != HANGUL:
                    breaks.extend(start + place for place in self.engine(number[start]).breaks(segment[start:end]))
            else:
                script = self.tables.script
                while end < limit and script[ord(segment[end])] == script[ord(segment[start])]:
                    end += 1
            start = end
        return breaks

    def _make_engine(self, number: int) -> LeastCost | LookAhead:
        name = {THAI: "thaidict", LAO: "laodict", KHMER: "khmerdict", BURMESE: "burmesedict", CJK: "cjdict"}[number]
        trie = load_trie(self.tables.about["dictionaries"][name])
        if number == CJK:
            return LeastCost(trie, self.tables, self.compose)
        # A span is divided only if it has room for two words of two characters in Thai and Khmer, or for one in Lao and
        # Burmese.
        return LookAhead(trie, self.tables, shortest=4 if number in (THAI, KHMER) else 2)


class LeastCost:
    """Divides Chinese and Japanese like ICU4J's CjkBreakEngine."""

    def __init__(self, trie: Trie, tables: WordBreakTables, compose: Callable[[str], str]) -> None:
        self.trie, self.tables, self.compose = trie, tables, compose

    def breaks(self, span: str) -> list[int]:
        """Return the positions inside the span where words end, by minimum-cost segmentation."""
        text, origins = self.normalize(span)
        ends = self.word_ends(text)
        # A boundary inside the NFKC form of one character, such as U+3300, moves to the start of the character.
        places = dict.fromkeys(origins[end] for end in ends)
        return [place for place in places if 0 < place < len(span)]

    def word_ends(self, text: str) -> list[int]:
        """Return the end of each word of a normalized text, by minimum-cost segmentation."""
        codes = self.trie.units(text)
        limit = len(codes)
        unreached = 1 << 31
        cost, before = [0] + [unreached] * limit, [-1] * (limit + 1)
        after_katakana = False
        for start in range(limit):
            if cost[start] == unreached:
                continue
            words, _ = self.trie.words(codes, start, min(start + LONGEST_WORD, limit))
            if not words or words[0][0] != 1:
                words.append((1, UNKNOWN_COST))
            katakana = is_katakana(codes[start])
            if katakana and not after_katakana:
                run = sum(1 for _ in takewhile(is_katakana, codes[start : start + KATAKANA_LIMIT]))
                if run < KATAKANA_LIMIT:
                    known = run < len(KATAKANA_COSTS)
                    words.append((run, KATAKANA_COSTS[run] if known else KATAKANA_COST_LONG))
            after_katakana = katakana
            for length, word_cost in words:
                if cost[start] + word_cost < cost[start + length]:
                    cost[start + length] = cost[start] + word_cost
                    before[start + length] = start
        ends = []
        end = limit
        while end > 0:
            ends.append(end)
            end = before[end]
        return ends[::-1]

    def normalize(self, span: str) -> tuple[str, Sequence[int]]:
        """Return the span in Unicode's form NFKC, and for each position in the result the position in the span.

        As in ICU4J's Normalizer, all positions inside a normalized piece map to its start.
        """
        mapping, joint = self.tables.nfkc, self.tables.nfkc_joint
        if joint.isdisjoint(span) and mapping.keys().isdisjoint(map(ord, span)):
            return span, range(len(span) + 1)
        pieces: list[str] = []
        for character in span:
            if character in joint and pieces:
                pieces[-1] += character
            else:
                pieces.append(character)
        normalized = [self.compose(piece.translate(mapping)) for piece in pieces]
        if "".join(normalized) == span:
            return span, range(len(span) + 1)
        origins, start = [0], 0
        for piece, form in zip(pieces, normalized, strict=True):
            origins += [start] * (len(form) - 1)
            start += len(piece)
            origins.append(start)
        return "".join(normalized), origins


class LookAhead:
    """Divides Thai, Lao, Khmer and Burmese like ICU4J's ThaiBreakEngine and its siblings."""

    def __init__(self, trie: Trie, tables: WordBreakTables, *, shortest: int) -> None:
        self.trie, self.shortest = trie, shortest
        self._role = tables.role.tobytes()

    def breaks(self, span: str) -> list[int]:
        if len(span) < self.shortest:
            return []
        words = _Words(self.trie, span)
        roles = [self._role[ord(character)] for character in span]
        ends: list[int] = []
        start, limit = 0, len(span)
        while start < limit:
            end = words.best_end(start)
            if end < limit and end - start < ROOT_COMBINE_THRESHOLD:
                lengths, prefix = words.lengths_at(end)
                if not lengths and (end == start or prefix < PREFIX_COMBINE_THRESHOLD):
                    end = self.plausible_end(words, roles, end)
            while end < limit and roles[end] & MARK:
                end += 1
            if end < limit and roles[end] & SUFFIX and not words.lengths_at(end)[0]:
                end = end_with_suffixes(span, roles, end)
            ends.append(end)
            start = end
        return ends[:-1]

    def plausible_end(self, words: _Words, roles: Sequence[int], start: int) -> int:
        """Return the next position where a word may end and a dictionary word begins, or the end of the span."""
        for place in range(start + 1, len(roles)):
            if roles[place - 1] & ENDS_WORD and roles[place] & BEGINS_WORD and words.lengths_at(place)[0]:
                return place
        return len(roles)


def end_with_suffixes(span: str, roles: Sequence[int], end: int) -> int:
    """Return the end of a word including the Thai suffixes at `end`: an abbreviation sign, then a repetition sign."""
    if span[end] == PAIYANNOI and not roles[end - 1] & SUFFIX:
        end += 1
    # A second repetition sign is not part of the word.
    if span[end : end + 1] == MAIYAMOK and span[end - 1] != MAIYAMOK:
        end += 1
    return end


class _Words:
    """Cache of the dictionary words that begin at each position of a span, like ICU4J's PossibleWord."""

    def __init__(self, trie: Trie, span: str) -> None:
        self.trie, self.units, self.limit = trie, trie.units(span), len(span)
        self._known: dict[int, tuple[list[int], int]] = {}

    def lengths_at(self, start: int) -> tuple[list[int], int]:
        """Return the lengths of the words that begin at a position, shortest first, and the length of the look-up.

        The length of the look-up is the number of characters that the look-up reads before it ends.
        """
        known = self._known.get(start)
        if known is None:
            words, prefix = self.trie.words(self.units, start, self.limit)
            known = self._known[start] = [length for length, _ in words[:POSSIBLE_WORDS]], prefix
        return known

    def best_end(self, start: int) -> int:
        """Return the end of the best word at a position, or the position itself if no word begins there.

        The best word is the longest word that two more words, or the span's last word, can follow. If there is no such
        word, it is the shortest word that one word can follow, or else the longest word.
        """
        ends = [start + length for length in self.lengths_at(start)[0]]
        if len(ends) < 2 or ends[-1] >= self.limit:
            return ends[-1] if ends else start
        chosen = ends[-1]
        for end in reversed(ends):
            followers = self.lengths_at(end)[0]
            if followers:
                chosen = end
                if end + followers[-1] >= self.limit or any(
                    self.lengths_at(end + length)[0] for length in followers[::-1]
                ):
                    break
        return chosen


class Trie:
    """A dictionary in ICU's serialized form: ICU4J's BytesTrie (with an offset) or CharsTrie, read from the root.

    Nodes are parsed on first use. A node has a value if a word ends there, and either a map from next characters to
    positions, or a linear run of characters.
    """

    def __init__(self, packed: bytes) -> None:
        body = packed[struct.unpack(">H", packed[:2])[0] :]
        offset, _, _, total, kind, transform, _, _ = struct.unpack(">8i", body[:32])
        self.wide = kind & 7 == 1
        self.offset = transform & 0x1FFFFF
        self.data: Sequence[int] = body[offset:total]
        if self.wide:
            units = array("H", body[offset:total])
            if sys.byteorder == "little":
                units.byteswap()
            self.data = units
        self.nodes: dict[int, tuple[int | None, Mapping[int, int], int, int]] = {}

    def units(self, text: str) -> Sequence[int]:
        """Convert a text to the units of the dictionary, like ICU4J's BytesDictionaryMatcher.transform.

        ICU4J handles joiners separately, but spans contain no joiners. Characters of other scripts get units that are
        in no word.
        """
        return [ord(character) - self.offset for character in text]

    def words(self, units: Sequence[int], start: int, limit: int) -> tuple[list[tuple[int, int]], int]:
        """Return length and value of each word that begins at a position, shortest first, and the number of units read.

        As in ICU4J's matches(), the number includes the unit that does not match.
        """
        words: list[tuple[int, int]] = []
        nodes, data = self.nodes, self.data
        _, choices, place, units_left = nodes.get(0) or self._read(0)
        for count in range(1, limit - start + 1):
            unit = units[start + count - 1]
            if units_left:
                if data[place] != unit:
                    return words, count
                place += 1
                units_left -= 1
            else:
                place = choices.get(unit, -1)
                if place < 0:
                    return words, count
            if not units_left:
                value, choices, begin, units_left = nodes.get(place) or self._read(place)
                if value is not None:
                    words.append((count, value))
                    if not choices and not units_left:
                        return words, count
                place = begin
        return words, limit - start

    def _read(self, place: int) -> tuple[int | None, Mapping[int, int], int, int]:
        node = self.nodes[place] = (_read_chars_node if self.wide else _read_bytes_node)(self.data, place)
        return node


_Node = tuple[int | None, Mapping[int, int], int, int]


def _read_chars_node(data: Sequence[int], place: int) -> _Node:
    lead, place, value = data[place], place + 1, None
    if lead >= 0x40:
        if lead & 0x8000:
            return _chars_value(data, place - 1)[0], {}, 0, 0
        high, lead = lead & 0x7FC0, lead & 0x3F
        if high < 0x4040:
            value = (high >> 6) - 1
        elif high < 0x7FC0:
            value, place = (high - 0x4040) << 10 | data[place], place + 1
        else:
            value, place = data[place] << 16 | data[place + 1], place + 2
    if lead >= 0x30:
        return value, {}, place, lead - 0x2F

    def jump(place: int) -> tuple[int, int]:
        return _number(data, place + 1, data[place], 0xFC00, 0xFFFF)

    return value, _choices(data, place, lead, jump, partial(_chars_value, data), 0x8000), 0, 0


def _chars_value(data: Sequence[int], place: int) -> tuple[int, int]:
    return _number(data, place + 1, data[place] & 0x7FFF, 0x4000, 0x7FFF)


def _choices(
    data: Sequence[int],
    place: int,
    lead: int,
    jump: Callable[[int], tuple[int, int]],
    value: Callable[[int], tuple[int, int]],
    is_final: int,
) -> dict[int, int]:
    """Return the children of a branch node: a dict of their positions, keyed by unit.

    `jump` and `value` decode the number at a position, and return the number and the next position. `is_final` is the
    bit of a value that marks the end of a word.
    """
    choices: dict[int, int] = {}
    if lead == 0:
        lead, place = data[place], place + 1
    waiting = [(place, lead + 1)]
    while waiting:
        place, size = waiting.pop()
        while size > 5:
            delta, after = jump(place + 1)
            waiting.append((after + delta, size >> 1))
            place, size = after, size - (size >> 1)
        for _ in range(size - 1):
            delta, after = value(place + 1)
            choices[data[place]] = place + 1 if data[place + 1] & is_final else after + delta
            place = after
        choices[data[place]] = place + 1
    return choices


def _number(data: Sequence[int], place: int, lead: int, two: int, three: int) -> tuple[int, int]:
    """Decode a number of one to three 16-bit units; return the number and the position after its last unit.

    `lead` is the first unit, and `place` the position after it. `two` and `three` are the smallest first units of
    numbers of two and of three units.
    """
    if lead < two:
        return lead, place
    if lead < three:
        return (lead - two) << 16 | data[place], place + 1
    return data[place] << 16 | data[place + 1], place + 2


def _read_bytes_node(data: Sequence[int], place: int) -> _Node:
    lead, place, value = data[place], place + 1, None
    if lead >= 0x20:
        value, place = _bytes_value(data, place - 1)
        if lead & 1:
            return value, {}, 0, 0
        lead, place = data[place], place + 1
    if lead >= 0x10:
        return value, {}, place, lead - 0x0F

    def jump(place: int) -> tuple[int, int]:
        return _read_number(data, place + 1, data[place], 0, (0xC0, 0xF0, 0xFE))

    return value, _choices(data, place, lead, jump, partial(_bytes_value, data), 1), 0, 0


def _bytes_value(data: Sequence[int], place: int) -> tuple[int, int]:
    return _read_number(data, place + 1, data[place] >> 1, 0x10, (0x51, 0x6C, 0x7E))


def _read_number(
    data: Sequence[int], place: int, lead: int, zero: int, limits: tuple[int, int, int]
) -> tuple[int, int]:
    """Decode a number of one to five bytes; return the number and the position after its last byte.

    Args:
        place: Position after the first byte.
        lead: Value of the first byte, without flag bits.
        zero: `lead` of the number 0.
        limits: Smallest `lead` of numbers of two, of three, and of four or more bytes.
    """
    two, three, four = limits
    if lead < two:
        return lead - zero, place
    if lead < three:
        base, size = lead - two, 1
    elif lead < four:
        base, size = lead - three, 2
    else:
        base, size = 0, 3 + (lead - four)
    for byte in data[place : place + size]:
        base = base << 8 | byte
    return base, place + size


@cache
def load_trie(name: str) -> Trie:
    return Trie(gzip.decompress((TABLES / name).read_bytes()))


def is_katakana(code: int) -> bool:
    """Check whether a code point is Katakana, like ICU4J's CjkBreakEngine.isKatakana."""
    return (0x30A1 <= code <= 0x30FE and code != 0x30FB) or 0xFF66 <= code <= 0xFF9F
