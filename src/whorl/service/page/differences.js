/** Finds the words that differ between two texts, outside their shared passages. */

import { firstIndex } from "./offsets.js";

const WORD = /[\p{L}\p{N}\p{M}]+(?:[.,'’-][\p{L}\p{N}\p{M}]+)*/gu;
/**
 * Maximum number of words on each side of a gap. In a longer gap, all words count as different, because the time to match
 * equal words grows with the product of both numbers.
 */
const MATCHED = 500;

/**
 * Return the differences of two texts in order: gaps between passages that both texts have in the same order.
 * @param {{a: string, b: string}} texts
 * @param {{a: Array<{start: number, end: number}>, b: Array<{start: number, end: number}>}} shared Shared passages in
 *   UTF-16 units, the longest first.
 * @returns {Array<{a: Object, b: Object}>} For each side the `start` of the gap, and the `ranges` of its differing
 *   words; one side may have no ranges.
 */
export function differences(texts, shared) {
  const outside = { a: complement(shared.a, texts.a.length), b: complement(shared.b, texts.b.length) };
  const ends = { a: { start: texts.a.length, end: texts.a.length }, b: { start: texts.b.length, end: texts.b.length } };
  const found = [];
  let before = { a: { start: 0, end: 0 }, b: { start: 0, end: 0 } };
  for (const next of [...chain(shared), ends]) {
    const gaps = Object.fromEntries(["a", "b"].map((side) => [side, wordsIn(
      texts[side], within(outside[side], before[side].end, next[side].start),
    )]));
    const [a, b] = unmatched(gaps.a, gaps.b);
    if (a.length || b.length) {
      found.push({ a: { start: before.a.end, ranges: runs(gaps.a, a) }, b: { start: before.b.end, ranges: runs(gaps.b, b) } });
    }
    before = next;
  }
  return found;
}

/**
 * Return passages that follow each other in both texts, preferring long passages.
 * @param {{a: Array<{start: number, end: number}>, b: Array<{start: number, end: number}>}} shared The longest first.
 */
export function chain({ a, b }) {
  const chosen = [];
  for (let at = 0; at < a.length; at += 1) {
    const place = firstIndex(chosen.length, (index) => chosen[index].a.start >= a[at].start);
    const before = chosen[place - 1], after = chosen[place];
    if ((!before || before.b.start < b[at].start) && (!after || b[at].start < after.b.start)) {
      chosen.splice(place, 0, { a: a[at], b: b[at] });
    }
  }
  return chosen;
}

/** Return the ranges of a text outside the given ranges. */
function complement(ranges, length) {
  const outside = [];
  let end = 0;
  for (const range of [...ranges].sort((x, y) => x.start - y.start)) {
    if (range.start > end) outside.push({ start: end, end: range.start });
    end = Math.max(end, range.end);
  }
  if (end < length) outside.push({ start: end, end: length });
  return outside;
}

/** Return the parts of ascending ranges between two positions. */
function within(ranges, start, end) {
  const parts = [];
  for (let at = firstIndex(ranges.length, (index) => ranges[index].end > start); ranges[at]?.start < end; at += 1) {
    parts.push({ start: Math.max(start, ranges[at].start), end: Math.min(end, ranges[at].end) });
  }
  return parts;
}

/** Return the words in ranges of a text, each with its position and the number of its range. */
function wordsIn(text, ranges) {
  return ranges.flatMap(({ start, end }, range) => Array.from(text.slice(start, end).matchAll(WORD), (match) => ({
    word: match[0].toLowerCase(), start: start + match.index, end: start + match.index + match[0].length, range,
  })));
}

/** Return the indices of words outside a longest common subsequence, for both sides. */
function unmatched(a, b) {
  const all = [a, b].map((words) => words.map((_, at) => at));
  if (!a.length || !b.length || a.length > MATCHED || b.length > MATCHED) return all;
  const width = b.length + 1, longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i].word === b[j].word
        ? longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const [onlyA, onlyB] = [[], []];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i].word === b[j].word) [i, j] = [i + 1, j + 1];
    else if (j === b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) onlyA.push(i++);
    else onlyB.push(j++);
  }
  return [onlyA, onlyB];
}

/** Return the ranges of runs of words: neighbouring indices in the same range. */
function runs(words, indices) {
  const ranges = [];
  indices.forEach((index, at) => {
    const { start, end, range } = words[index];
    if (at && index === indices[at - 1] + 1 && range === words[index - 1].range) ranges.at(-1).end = end;
    else ranges.push({ start, end });
  });
  return ranges;
}
