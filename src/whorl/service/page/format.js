/** Formats numbers for people, and draws bars. */

import { element } from "./dom.js";

/** Format a share from 0 to 1 as a percentage, rounded down: only 1 is 100.0%. */
export function percent(share) {
  const tenths = Math.floor(share * 1000 + 1e-9);
  return share > 0 && tenths === 0 ? "<0.1%" : `${Math.floor(tenths / 10)}.${tenths % 10}%`;
}

/** Format an integer with thousands separators. */
export const whole = (number) => number.toLocaleString("en");

/** Format a number with its noun: 1 word, 2 words. */
export const counted = (number, noun, nouns = `${noun}s`) => `${whole(number)} ${number === 1 ? noun : nouns}`;

/** Estimate the words of a document: its distinct shingles of five words, plus four. */
export const sizeOf = (shingles) => (shingles ? `${counted(shingles + 4, "word")}` : "no five words");

/** Draw a bar for a share, darker from `low` to `high`. It is hidden from screen readers, which read the number. */
export function bar(share, low = share, high = share, kind = "first") {
  const full = element("i");
  full.style.width = `${100 * share}%`;
  const drawn = element(`div.bar.${kind}`, { "aria-hidden": "true" }, full);
  if (high > low) {
    const range = element("b");
    range.style.left = `${100 * low}%`;
    range.style.width = `${100 * (high - low)}%`;
    drawn.append(range);
  }
  return drawn;
}

