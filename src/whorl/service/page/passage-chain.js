/** Chooses shared passages that are in the same order in both texts. */

import { firstIndex } from "./offsets.js";

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
