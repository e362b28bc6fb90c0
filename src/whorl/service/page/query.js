/** Reads and rewrites the numbers of the first FINGERPRINT of a query; the service's parser decides. */

const FINGERPRINT = /FINGERPRINT:\s*(?:("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')((?:_[\d.]*)*)|((?:\\.|[^\s()"'_^\\])+)((?:_[^\s()^_]*)*))/su;

/** Reference to a text that is sent with the query. */
export const SOURCE = "source";

/**
 * Parse the first FINGERPRINT of a query; return null if it has none.
 * @returns {{reference: string, threshold: ?number, recall: ?number}|null} The reference as typed; percentages.
 */
export function read(query) {
  const found = query.match(FINGERPRINT);
  if (!found) return null;
  let [, quoted, outside, plain, behind] = found;
  if (quoted && !outside) {
    // If the whole literal is quoted, its numbers are inside the quotes.
    const cut = quoted.slice(1, -1).match(/^((?:\\.|[^_\\])+)((?:_[\d.]+){0,2})$/su);
    if (cut?.[2]) [quoted, outside] = [quoted[0] + cut[1] + quoted[0], cut[2]];
  }
  const [threshold, recall] = (quoted ? outside : behind).split("_").slice(1).map(asPercent);
  return { reference: quoted ?? plain, threshold: threshold ?? null, recall: recall ?? null };
}

/**
 * Return each word and quoted phrase of a query as a clause; null if the query has any other syntax. A question mark at
 * the end of several words is not a wildcard.
 */
export function wordsOf(query) {
  const terms = query.replace(/(?<=\s\S+)\?+\s*$/u, "").match(/"[^"]*"|[^\s"]+/gu) ?? [];
  const clauses = terms.filter((term) => /[\p{L}\p{N}]/u.test(term)).map((term) => {
    if (term.startsWith('"')) return term;
    const word = term.replace(/[.,;!]+$/u, "");
    if (/^(?:AND|OR|NOT|TO)$/u.test(word) || /^[-+=~]|[:()*?~<>[\]^%=|\\!{}"]/u.test(word)) return null;
    return /^[\p{L}\p{N}]+$/u.test(word) ? word : `"${word}"`;
  });
  return clauses.length && clauses.every((clause) => clause !== null) ? clauses : null;
}

/** Return a query with new numbers in its first FINGERPRINT. */
export function withNumbers(query, threshold, recall) {
  const fingerprint = read(query);
  if (fingerprint === null) return query;
  return query.replace(FINGERPRINT, () => literal(fingerprint.reference, threshold, recall));
}

/** Return a query with the document `id` replaced by `other` in all of its FINGERPRINTs. */
export function withReference(query, id, other) {
  return query.replace(new RegExp(FINGERPRINT, "gsu"), (clause) => {
    const { reference, threshold, recall } = read(clause);
    const plain = reference.replace(/^(["'])(.*)\1$/su, "$2").replace(/\\(.)/gsu, "$1");
    const numbers = [threshold, recall].map((number) => (number === null ? "" : `_${percentLiteral(number)}`));
    return plain === id ? `FINGERPRINT:${quoted(other)}${numbers.join("")}` : clause;
  });
}

/** Return an id as a literal of a query. */
export function quoted(id) {
  return /^[A-Za-z0-9./:@#$+-]+$/.test(id) ? id : `"${id.replace(/["\\]/g, "\\$&")}"`;
}

/** Return a FINGERPRINT clause for a reference and two percentages. */
const literal = (reference, threshold, recall) => `FINGERPRINT:${reference}_${percentLiteral(threshold)}_${percentLiteral(recall)}`;

/** Format a percentage for a query or a request. Both read a number up to 1 as a fraction, so one percent is 0.01. */
export const percentLiteral = (percent) => (percent <= 1 ? String(percent / 100) : String(percent));

function asPercent(number) {
  const value = Number(number);
  if (!number || !(value > 0 && value <= 100)) return null;
  return value > 1 ? value : value * 100;
}
