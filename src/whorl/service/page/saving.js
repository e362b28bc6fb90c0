/** Files that a person takes along. */

import { element } from "./dom.js";

/** Until when the browser has taken a file over, in milliseconds. */
const TAKEN = 60_000;

/** Save what a service answered, or a text, as a file. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), TAKEN);
}

/** Save an answer under the name that it has for itself. */
export async function saveAnswer(answer, otherwise) {
  const named = answer.headers.get("Content-Disposition")?.match(/filename="([^"]+)"/)?.[1];
  save(await answer.blob(), named ?? otherwise);
}
