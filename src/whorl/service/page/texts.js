/**
 * Texts of one's own: pasted, or read from files. They are in no store and stay in this tab, each under a mark that
 * addresses hold in its place: who is sent such an address learns that there was a text, and not what it says.
 */

const KEPT = "whorl.text.";
const LAST = "whorl.text";
const inMemory = new Map();

/**
 * Keep a text until the tab is closed.
 * @param {string} text
 * @param {string} name Its file's; "" for a pasted one.
 * @returns {string} Its mark.
 */
export function keep(text, name) {
  const mark = markOf(text), told = { text, name };
  inMemory.set(mark, told);
  sessionStorage.removeItem(KEPT + mark);
  for (const isAlone of [false, true]) {
    if (isAlone) for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEPT)) sessionStorage.removeItem(key);
    try {
      sessionStorage.setItem(KEPT + mark, JSON.stringify(told));
      break;
    } catch {
      // There is room for some megabytes; what is longer lasts until the page is left.
    }
  }
  sessionStorage.setItem(LAST, mark);
  return mark;
}

/** Return the text of a mark and its name, or null where it is not in this tab. */
export function textOf(mark) {
  if (!inMemory.has(mark)) {
    const kept = sessionStorage.getItem(KEPT + mark);
    if (kept !== null) inMemory.set(mark, JSON.parse(kept));
  }
  return inMemory.get(mark) ?? null;
}

/** Return the mark of the last text that there was, or null. */
export function lastMark() {
  const mark = sessionStorage.getItem(LAST);
  return mark !== null && textOf(mark) ? mark : null;
}

/** What an address says that leads to a text of somebody else's. */
export const NOT_HERE = "This address leads to a text that somebody pasted or read from a file. It was never sent along: "
  + "paste it here, or drop the file.";

/** How a text of one's own is called. */
export const calledOf = ({ name }) => (name ? `Your text (${name})` : "Your text");

/** A number for a text (FNV-1a), with its length: two texts of one tab hardly have the same. */
function markOf(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return `${text.length.toString(36)}-${(hash >>> 0).toString(36)}`;
}
