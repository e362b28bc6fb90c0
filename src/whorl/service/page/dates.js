/** The date of a document, among whatever properties it has. */

const ISO = /^\d{4}-\d{2}-\d{2}(?:T|$)/;
/** Parts of names of properties that hold dates, the best first. */
const NAMES = ["modif", "updat", "changed", "date", "publish", "creat"];

/** Return a document's date as it is written there, or null: that of its last change where one is told. */
export function dateOf(properties) {
  const dated = Object.entries(properties).filter(([, values]) => ISO.test(String(values[0] ?? "")));
  const rank = ([name]) => {
    const at = NAMES.findIndex((part) => name.toLowerCase().includes(part));
    return at < 0 ? NAMES.length : at;
  };
  const [best] = dated.sort((a, b) => rank(a) - rank(b));
  return best ? String(best[1][0]) : null;
}
