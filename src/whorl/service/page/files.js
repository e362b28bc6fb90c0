/** Reads chosen and dropped files, and saves files on the user's computer. */

import { ask } from "./api.js";
import { element } from "./dom.js";

export const MOST_BYTES = 40_000_000;
/** Milliseconds until the address of a saved file is revoked; by then the browser has started the download. */
const REVOKED_AFTER = 60_000;

/**
 * Return the text of a file, extracted by the service as `whorl index` does.
 * @param {boolean} [rowsAsText] Whether to return the whole of a text file whose rows are documents, such as CSV.
 */
export const textIn = async (file, rowsAsText = true) => (await read(file, { rows_as_text: rowsAsText })).text;

/** Return the text of a file as `text`, and with its markup as `markup`. */
export const markedTextIn = (file) => read(file, { rows_as_text: true, with_markup: true });

async function read(file, options) {
  if (file.size > MOST_BYTES) throw tooLarge(file);
  const answer = await ask("/text", { name: file.name, content: await asBase64(file), ...options });
  if (!answer.text.trim()) throw new Error(`${file.name} holds no text`);
  return answer;
}

/** Return the error for a file that is too large for the page. */
export const tooLarge = (file) => new Error(`${file.name} has more than ${MOST_BYTES / 1e6} MB; whorl index reads it`);

/** Return an error whose message has the name of the file. */
export const withName = (error, name) => (error.message.includes(name) ? error : new Error(`${name}: ${error.message}`));

/** Return the files of dropped folders, each with its path. */
export async function within(entries) {
  const found = [], waiting = entries.filter(Boolean);
  while (waiting.length) {
    const entry = waiting.shift();
    if (entry.name.startsWith(".")) continue;
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push(Object.assign(file, { path: entry.fullPath.replace(/^\//, "") }));
      continue;
    }
    const reader = entry.createReader();
    // readEntries returns only some of the entries, so call it until it returns none.
    for (let some = null; some?.length !== 0;) {
      some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      waiting.push(...some);
    }
  }
  return found;
}

function asBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}

/** Save a response or a text as a file. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), REVOKED_AFTER);
}

/** Save a response under its own file name. */
export async function saveAnswer(answer, otherwise) {
  const named = answer.headers.get("Content-Disposition")?.match(/filename="([^"]+)"/)?.[1];
  save(await answer.blob(), named ?? otherwise);
}
