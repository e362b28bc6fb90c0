/** Numbers as people read them, and the bars that go with them. */

import { element } from "./dom.js";

/** A share from 0 to 1 in percent, rounded down: 100.0% is all of it, 0.0% is nothing. */
export function percent(share) {
  const tenths = Math.floor(share * 1000 + 1e-9);
  return share > 0 && tenths === 0 ? "<0.1%" : `${Math.floor(tenths / 10)}.${tenths % 10}%`;
}

/** A whole number with its thousands apart. */
export const whole = (number) => number.toLocaleString("en");

/** A number and its noun: 1 word, 2 words. */
export const counted = (number, noun, nouns = `${noun}s`) => `${whole(number)} ${number === 1 ? noun : nouns}`;

/** About how many words a document has: as many as it has different runs of five words, and four. */
export const sizeOf = (shingles) => (shingles ? `${counted(shingles + 4, "word")}` : "no five words");

/** A bar of a share; from `low` to `high` it is darker. For the eye only: the number stands beside it. */
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

