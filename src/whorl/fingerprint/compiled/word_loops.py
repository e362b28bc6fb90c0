"""Compiled loops that split text into folded words, with the Unicode data of `unicode_tables`.

The first pass, without branches, writes two things for each unit of a buffer: its folded form, and a bit that is set if
the unit may be part of a word. Words are then the runs of set bits, found 64 bits at a time.

The loops leave three kinds of runs to Lucene's state machine, which starts at the last known word boundary: a run with
an unusual unit, a run whose first unit cannot begin a word, and a run after which the word may continue (``don't``).
"""

from __future__ import annotations

from typing import Any

from whorl.fingerprint.compiled.jit import cached, copy8, get, inlined, int64, loop, lowest_bit, uint16, uint32, uint64
from whorl.fingerprint.compiled.unicode_tables import (
    ACCEPTS,
    BUFFER,
    CARE,
    CATEGORY_SHIFT,
    COMBINING,
    DICTIONARY_0,
    DIVIDED,
    EMOJI,
    EMOJI_IF_MARKED,
    FOLD_SHIFT,
    HARD_END,
    IS_WORD,
    JAPANESE_SCRIPT,
    JOINING,
    OTHER_SCRIPT,
    SLOW,
    SPACE,
    START_WORD,
    STRIDE,
)

_FULL = uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def _code(units: Any, place: int, end: int) -> Any:
    unit = int64(get(units, place))
    if (unit & 0xFC00) == 0xD800 and place + 1 < end:
        low = int64(get(units, place + 1))
        if (low & 0xFC00) == 0xDC00:
            return ((unit - 0xD800) << 10) + (low - 0xDC00) + 0x10000
    return unit


@loop
def _buffer_end(units: Any, start: int, end: int, table: Any, size: int) -> Any:
    """Return the end of the buffer of up to `size` units from `start`, like ICUTokenizer.refill and findSafeEnd."""
    if end - start < size:
        return end
    place = start + size
    while place > start:
        if get(table, int64(get(units, place - 1))) & uint32(SPACE):
            return place
        place -= 1
    return start + size


@loop
def _look_up(units: Any, start: int, end: int, table: Any, folded: Any, runs: Any, care: Any) -> Any:
    """Fold the units of a buffer, set a bit for each unit that may be in a word, and return the OR of all flags."""
    together = uint32(0)
    length = end - start
    for block in range((length + 63) >> 6):
        base = block << 6
        bits = uint64(0)
        flags = uint32(0)
        count = min(64, length - base)
        for i in range(count):
            entry = get(table, int64(get(units, start + base + i)))
            folded[uint64(base + i)] = uint16(entry >> uint32(FOLD_SHIFT))
            bits = (bits >> uint64(1)) | (uint64(entry) << uint64(63))
            flags |= entry
        if count < 64:
            bits >>= uint64(64 - count)
        runs[uint64(block)] = bits
        care[uint64(block)] = flags & uint32(CARE)
        together |= flags
    return together


@loop
def _edges(runs: Any, start: int, end: int, edges: Any) -> Any:
    """Write start and end of each run of set bits in [start, end) to `edges`; return the number of starts and ends."""
    count = 0
    inside = uint64(0)
    for block in range(start >> 6, (end + 63) >> 6):
        base = block << 6
        bits = uint64(get(runs, block))
        if base < start:
            bits &= _FULL << uint64(start - base)
        if base + 64 > end:
            bits &= _FULL >> uint64(base + 64 - end)
        changes = bits ^ ((bits << uint64(1)) | inside)
        inside = bits >> uint64(63)
        while changes:
            edges[uint64(count)] = base + lowest_bit(changes)
            count += 1
            changes &= changes - uint64(1)
    if count & 1:
        edges[uint64(count)] = end
        count += 1
    return count


@inlined
def _segment(units: Any, start: int, end: int, machine: int, layout: Any) -> Any:
    """Return the end of the segment at `start`, whether the segment is a word, and its flags SLOW and DIVIDED."""
    stride, dictionary = layout.numbers[STRIDE], layout.numbers[DICTIONARY_0 + machine]
    row = layout.begins[machine]
    stop, last, place = start, int64(0), start
    seen_flags, flags = int64(0), int64(0)
    while place < end:
        code = _code(units, place, end)
        place += 2 if code > 0xFFFF else 1
        category = int64(get(layout.categories, machine * 0x110000 + code))
        seen_flags |= int64(get(layout.characters, code)) & SLOW
        if category >= dictionary:
            seen_flags |= DIVIDED
        state = int64(get(layout.following, row * stride + category))
        if state == 0:
            break
        kind = int64(get(layout.states, state))
        if kind & ACCEPTS:
            stop, last, flags = place, kind, seen_flags
        row = state
    if stop == start:  # no rule matches: advance by one character
        code = _code(units, start, end)
        stop = start + (2 if code > 0xFFFF else 1)
        flags = int64(SLOW)
    is_word = (last & IS_WORD) != 0
    if not is_word:
        code = _code(units, start, end)
        kind = int64(get(layout.characters, code)) & (EMOJI | EMOJI_IF_MARKED)
        if kind:
            second = start + (2 if code > 0xFFFF else 1)
            is_word = (kind & EMOJI) != 0 or (second < stop and (units[second] == 0xFE0F or units[second] == 0x20E3))
    return stop, is_word, flags


@inlined
def _write_by_machine(
    units: Any, origin: int, place: int, target: int, end: int, machine: int, layout: Any, work: Any, at: Any
) -> Any:
    """Write the words from `place` to `target`, found with the state machine; return the end of the last segment."""
    length, count, slow = at[0], at[1], at[2]
    while place < target:
        stop, is_word, flags = _segment(units, place, end, machine, layout)
        # A dictionary also finds words in a segment that is not itself a word.
        if is_word or flags & DIVIDED:
            if flags:
                work.slow[slow, 0], work.slow[slow, 1] = count, place
                work.slow[slow, 2], work.slow[slow, 3] = stop, machine | flags << 1 | (8 if is_word else 0)
                slow += 1
            else:
                work.starts[count] = length
                work.firsts[count] = place
                for i in range(0, stop - place, 8):
                    copy8(work.words, length + i, work.folded, place - origin + i)
                length += stop - place
                work.words[length] = 32
                length += 1
                count += 1
        place = stop
    at[0], at[1], at[2] = length, count, slow
    return place


@inlined
def _write_by_bits(units: Any, origin: int, start: int, end: int, layout: Any, work: Any, at: Any) -> None:
    """Split a run of one script (not Japanese) into words, and write them.

    A run of set bits from `_look_up` is one word if a word certainly begins at its start and ends at its end.
    Otherwise, the state machine finds the words.
    """
    table, words, starts, folded, edges = layout.units, work.words, work.starts, work.folded, work.edges
    firsts = work.firsts
    places = _edges(work.runs, start - origin, end - origin, edges)
    length, count = at[0], at[1]
    boundary = start - origin  # position of the last known word boundary
    limit = end - origin
    for j in range(0, places, 2):
        first, stop = int64(get(edges, j)), int64(get(edges, j + 1))
        if stop <= boundary:
            continue
        first = max(first, boundary)
        careful = uint32(0)
        for block in range(first >> 6, (stop + 63) >> 6):
            careful |= get(work.care, block)
        begins = get(table, int64(get(units, origin + first))) & uint32(START_WORD)
        if careful and begins:
            careful = uint32(0)
            for i in range(first, stop):
                careful |= get(table, int64(get(units, origin + i))) & uint32(CARE)
        if not careful and begins:
            sure = stop >= limit
            if not sure:
                after = get(table, int64(get(units, origin + stop)))
                sure = (after & uint32(HARD_END)) != 0
                if not sure:
                    then = int64(0)
                    if stop + 1 < limit:
                        entry = get(table, int64(get(units, origin + stop + 1)))
                        then = 63 if entry & uint32(CARE) else int64(entry >> uint32(CATEGORY_SHIFT)) & 63
                    else:
                        then = 62
                    category = int64(after >> uint32(CATEGORY_SHIFT)) & 63
                    sure = ((get(layout.soft_ends, category) >> uint64(then)) & uint64(1)) != 0
            if sure:
                starts[uint64(count)] = length
                firsts[uint64(count)] = origin + first
                size = stop - first
                copy8(words, length, folded, first)
                for i in range(8, size, 8):
                    copy8(words, length + i, folded, first + i)
                length += size
                words[uint64(length)] = 32
                length += 1
                count += 1
                boundary = stop
                continue
        at[0], at[1] = length, count
        begin = first if begins else boundary
        boundary = _write_by_machine(units, origin, origin + begin, origin + stop, end, 0, layout, work, at) - origin
        length, count = at[0], at[1]
    at[0], at[1] = length, count


@loop
def _continues(code: int, script: int, layout: Any) -> Any:
    """Check whether a character of another script continues a run of `script`."""
    kind = int64(get(layout.characters, code)) & (COMBINING | JOINING)
    if kind & JOINING and not kind & COMBINING:
        wanted = code << 8 | script
        low, high = 0, layout.joins.size
        while low < high:
            middle = (low + high) >> 1
            join = int64(get(layout.joins, middle))
            if join == wanted:
                return True
            if join < wanted:
                low = middle + 1
            else:
                high = middle
        return False
    return kind != 0


@inlined
def _script_run(units: Any, start: int, end: int, layout: Any) -> Any:
    """Return the end and the script of the script run that begins at `start`, like WordBreakTables.script_runs."""
    current, place = int64(0), start
    while place < end:
        script = int64(get(layout.unit_scripts, int64(get(units, place))))
        # The product is 0 if the unit has the script of the run, or the script Common or Inherited. The processor would
        # often mispredict two separate branches at spaces.
        if (script >> 1) * (script ^ current):
            code = _code(units, place, end)
            script = int64(get(layout.scripts, code))
            if script > 1 and script != current:
                if current == 0:
                    current = script
                elif not _continues(code, current, layout):
                    break
            place += 1 if code > 0xFFFF else 0
        place += 1
    return place, current


@cached
def scan(units: Any, bounds: Any, is_whole: bool, layout: Any, work: Any, before: Any) -> Any:
    """Write the folded words of texts, each word followed by a space.

    Args:
        units: UTF-16 units of the texts, concatenated.
        bounds: Start of each text, and end of the last.
        is_whole: Whether `units` has the whole last text. If not, only complete buffers of the last text are read.
        layout: `unicode_tables.LoopTables`.
        work: `kernel.WorkingMemory`. The loop writes `words`, `starts`, `firsts` and `slow`. Each row of `slow`
            describes a segment that the tables alone cannot split into words:

            - number of words before the segment
            - index of its first unit
            - index after its last unit
            - bits: its state machine (bit 0), its flags SLOW and DIVIDED (bits 1 and 2), and whether the segment as a
              whole is a word (bit 3)
        before: Receives the number of words and the number of slow segments before each text.

    Returns:
        Number of units in `words`, number of words, number of slow segments, and number of units read.
    """
    at = work.at
    at[:] = 0
    texts = bounds.size - 1
    start = bounds[0]
    for text in range(texts):
        start, text_end = bounds[text], bounds[text + 1]
        before[text, 0], before[text, 1] = at[1], at[2]
        while start < text_end:
            if text == texts - 1 and not is_whole and text_end - start < layout.numbers[BUFFER]:
                break
            end = _buffer_end(units, start, text_end, layout.units, layout.numbers[BUFFER])
            together = _look_up(units, start, end, layout.units, work.folded, work.runs, work.care)
            one_run = not together & uint32(OTHER_SCRIPT)
            place = start
            while place < end:
                stop, script = end, int64(0)
                if not one_run:
                    stop, script = _script_run(units, place, end, layout)
                if script == layout.numbers[JAPANESE_SCRIPT]:
                    _write_by_machine(units, start, place, stop, stop, 1, layout, work, at)
                else:
                    _write_by_bits(units, start, place, stop, layout, work, at)
                place = stop
            start = end
    before[texts, 0], before[texts, 1] = at[1], at[2]
    return at[0], at[1], at[2], start


@cached
def insert_slow_words(
    words: Any, starts: Any, before: Any, slow: Any, units: Any, table: Any, divided: Any, python_words: Any,
    filled: Any, filled_starts: Any,
) -> Any:  # fmt: skip
    """Copy the scanned words, with the words of slow segments in their places; return the numbers of units and words.

    `starts`, `before`, `slow` and `units` are as in `scan`. The loop adds the inserted words to the counts in `before`.
    `divided` has `ends` and `counts` of `cjk_word_loops.divide`. `python_words` has four arrays for the segments that
    the Python code has split: the units of the words, the end of each segment's units, the length of each word without
    its space, and the end of each segment's lengths. `filled` and `filled_starts` are the output: the units of all
    words, each word followed by a space, and the start of each word. `filled` must have room for PADDING additional
    units.
    """
    ends, counts = divided
    found_units, unit_ends, lengths, length_ends = python_words
    length, count, done, unit, word, end, other, text = 0, 0, 0, 0, 0, 0, 0, 0
    for segment in range(slow.shape[0] + 1):
        upto = slow[segment, 0] if segment < slow.shape[0] else starts.size - 1
        shift = length - starts[done]
        # Copy eight units at a time; later words overwrite the excess.
        for i in range(starts[done], starts[upto], 8):
            copy8(filled, i + shift, words, i)
        for i in range(done, upto):
            filled_starts[count] = starts[i] + shift
            count += 1
        length, done = starts[upto] + shift, upto
        while text < before.shape[0] and before[text, 1] <= segment:
            before[text, 0] += count - done
            text += 1
        if segment == slow.shape[0]:
            break
        if counts[segment] >= 0:
            place = slow[segment, 1]
            for _ in range(counts[segment]):
                filled_starts[count] = length
                count += 1
                while place < ends[end]:
                    filled[length] = uint16(table[units[place]] >> uint32(FOLD_SHIFT))
                    length += 1
                    place += 1
                filled[length] = 32
                length += 1
                end += 1
        else:
            start = length
            while word < length_ends[other]:
                filled_starts[count] = start
                start += lengths[word] + 1
                word += 1
                count += 1
            while unit < unit_ends[other]:
                filled[length] = found_units[unit]
                length += 1
                unit += 1
            other += 1
    filled_starts[count] = length
    return length, count
