/** Saves files on the user's computer. */

import { element } from "./dom.js";

/** Milliseconds after which the browser has started the download. */
const TAKEN = 60_000;

/** Save a response or a text as a file. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), TAKEN);
}

/** Save a response under its own file name. */
export async function saveAnswer(answer, otherwise) {
  const named = answer.headers.get("Content-Disposition")?.match(/filename="([^"]+)"/)?.[1];
  save(await answer.blob(), named ?? otherwise);
}
