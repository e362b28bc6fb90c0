/** Searches sorted positions; converts positions in texts from Unicode code points (service) to UTF-16 units (page). */

const ASTRAL = /[\ud800-\udbff][\udc00-\udfff]/;

/**
 * Convert ranges of code points to ranges of UTF-16 units.
 * @param {string} text
 * @param {Array<{start: number, end: number}>} ranges Half-open, in any order; they may overlap.
 * @returns {Array<{start: number, end: number}>} In the same order.
 */
export function toUnits(text, ranges) {
  if (!ASTRAL.test(text)) return ranges.map(({ start, end }) => ({ start, end }));
  const wanted = new Uint32Array(2 * ranges.length);
  ranges.forEach(({ start, end }, at) => wanted.set([start, end], 2 * at));
  const order = wanted.slice().sort();
  const units = new Map();
  let unit = 0, point = 0;
  for (const place of order) {
    while (point < place && unit < text.length) {
      unit += text.codePointAt(unit) > 0xffff ? 2 : 1;
      point += 1;
    }
    units.set(place, unit);
  }
  return ranges.map(({ start, end }) => ({ start: units.get(start), end: units.get(end) }));
}

/** Return the first index below `count` at which a condition holds, else `count`; it must hold at all later indices. */
export function firstIndex(count, holds) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
