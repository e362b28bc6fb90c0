/** Finds the date of a document among its properties. */

const ISO = /^\d{4}-\d{2}-\d{2}(?:T|$)/;
/** Parts of names of date properties, the preferred first. */
const NAMES = ["modif", "updat", "changed", "date", "publish", "creat"];

/** Return a document's date as stored, preferably the date of its last change; null if it has no date. */
export function dateOf(properties) {
  const dated = Object.entries(properties).filter(([, values]) => ISO.test(String(values[0] ?? "")));
  const rank = ([name]) => {
    const at = NAMES.findIndex((part) => name.toLowerCase().includes(part));
    return at < 0 ? NAMES.length : at;
  };
  const [best] = dated.sort((a, b) => rank(a) - rank(b));
  return best ? String(best[1][0]) : null;
}
