/**
 * The user's own texts, pasted or read from files. They are not stored, and stay in this tab. An address contains only
 * a mark (a hash) of a text, so a shared address reveals that a text existed, but not its content.
 */

const KEPT = "whorl.text.";
const LAST = "whorl.text";
const inMemory = new Map();

/**
 * Keep a text until the tab is closed.
 * @param {string} text
 * @param {string} name Name of its file; "" for a pasted text.
 * @param {string} [markup] The text with its markup, if it has any.
 * @returns {string} The mark.
 */
export function keep(text, name, markup = text) {
  const mark = markOf(text, name), own = { text, name, ...(markup !== text && { markup }) };
  inMemory.set(mark, own);
  sessionStorage.removeItem(KEPT + mark);
  for (const isAlone of [false, true]) {
    if (isAlone) for (const key of Object.keys(sessionStorage)) if (key.startsWith(KEPT)) sessionStorage.removeItem(key);
    try {
      sessionStorage.setItem(KEPT + mark, JSON.stringify(own));
      break;
    } catch {
      // Session storage has room for a few megabytes. A longer text is kept until the user leaves the page.
    }
  }
  sessionStorage.setItem(LAST, mark);
  return mark;
}

/** Return the text of a mark and its name; null if this tab has no such text. */
export function textOf(mark) {
  if (!inMemory.has(mark)) {
    const kept = sessionStorage.getItem(KEPT + mark);
    if (kept !== null) inMemory.set(mark, JSON.parse(kept));
  }
  return inMemory.get(mark) ?? null;
}

/** Return the mark of the last text; null if this tab has no text. */
export function lastMark() {
  const mark = sessionStorage.getItem(LAST);
  return mark !== null && textOf(mark) ? mark : null;
}

/** Message for an address with a text of another tab. */
export const NOT_HERE = "This address leads to a text that somebody pasted or read from a file. It was never sent along: "
  + "paste it here, or drop the file.";

/** Return the display name of the user's own text. */
export const calledOf = ({ name }) => (name ? `Your text (${name})` : "Your text");

/** Return the display name inside a sentence. */
export const inSentence = (own) => calledOf(own).replace("Your", "your");

/** Hash a text and its name (FNV-1a) together with the text's length, so that two texts of one tab hardly collide. */
function markOf(text, name) {
  let hash = 0x811c9dc5;
  for (const part of [text, name]) {
    for (let at = 0; at < part.length; at += 1) hash = Math.imul(hash ^ part.charCodeAt(at), 0x01000193);
  }
  return `${text.length.toString(36)}-${(hash >>> 0).toString(36)}`;
}
