/** The numbers of the first FINGERPRINT in a query, read and rewritten. The service's parser has the last word. */

const FINGERPRINT = /FINGERPRINT:\s*(?:("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')((?:_[\d.]*)*)|((?:\\.|[^\s()"'_^\\])+)((?:_[^\s()^_]*)*))/su;

/** What the query calls a text that is given beside it. */
export const SOURCE = "source";

/**
 * Return what the first FINGERPRINT of a query asks for, or null where there is none.
 * @returns {{reference: string, threshold: ?number, recall: ?number}|null} The reference as it was typed; percentages.
 */
export function read(query) {
  const found = query.match(FINGERPRINT);
  if (!found) return null;
  let [, quoted, outside, plain, behind] = found;
  if (quoted && !outside) {
    // The numbers of a literal that is quoted as a whole stand inside the quotes.
    const cut = quoted.slice(1, -1).match(/^((?:\\.|[^_\\])+)((?:_[\d.]+){0,2})$/su);
    if (cut?.[2]) [quoted, outside] = [quoted[0] + cut[1] + quoted[0], cut[2]];
  }
  const [threshold, recall] = (quoted ? outside : behind).split("_").slice(1).map(asPercent);
  return { reference: quoted ?? plain, threshold: threshold ?? null, recall: recall ?? null };
}

/** Return a query with other numbers in its first FINGERPRINT. */
export function withNumbers(query, threshold, recall) {
  const told = read(query);
  if (told === null) return query;
  return query.replace(FINGERPRINT, () => literal(told.reference, threshold, recall));
}

/** Return an id as a query can hold it. */
export function quoted(id) {
  return /^[A-Za-z0-9./:@#$+-]+$/.test(id) ? id : `"${id.replace(/["\\]/g, "\\$&")}"`;
}

/** Return a FINGERPRINT: of a reference as a query holds it, with two percentages. */
const literal = (reference, threshold, recall) => `FINGERPRINT:${reference}_${written(threshold)}_${written(recall)}`;

/** Return a percentage as queries and the service read it: a number up to 1 is a fraction, so one percent is 0.01. */
export const written = (percent) => (percent <= 1 ? String(percent / 100) : String(percent));

function asPercent(number) {
  const value = Number(number);
  if (!number || !(value > 0 && value <= 100)) return null;
  return value > 1 ? value : value * 100;
}
