/** Description of the store, requested once, and paths to its documents. */

import { ask } from "./api.js";

let asked = null;

/** Return the response of `/store`: `documents`, `is_read_only`, `keeps_passages`, `fields`, … */
export function about() {
  asked ??= ask("/store").catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** Announce that documents were added or deleted. */
export function changed() {
  asked = null;
  dispatchEvent(new Event("whorl:changed"));
}

/** A text is common if it is in more than this share of the documents. */
export const COMMON_ABOVE = "1%";

/**
 * Return a request's options about common text; {} if the store keeps no passages.
 * @param {boolean} [isIgnored] Whether to ignore common text.
 */
export async function commonText(isIgnored = false) {
  const { keeps_passages: keeps } = await about();
  return keeps ? { common_above: COMMON_ABOVE, ...(isIgnored ? { ignore_common: true } : {}) } : {};
}

/** Show the checkbox that ignores common text, if the store keeps passages. */
export async function offerCommon(box) {
  const { keeps_passages: keeps } = await about();
  box.closest("label").hidden = !keeps;
}

/**
 * Return the `documents` whose name or id contains each word of `named`, with their `total` and `warnings`.
 * @param {string} named "" for all documents.
 */
export const documentsNamed = (named, { start = 0, rows, signal }) => (
  ask(`/documents?${new URLSearchParams({ named, start, rows })}`, undefined, signal)
);

/** Return the display name of a document. */
export const nameOf = ({ id, name }) => name || id;

/** Return the path of a document, without the prefix of the API. */
export const pathOf = (id) => `/documents/${encodeURIComponent(id)}`;

/** Addresses of views. */
export const documentLink = (id) => `#document?${new URLSearchParams({ id })}`;
export const sourcesLink = (id) => `#sources?${new URLSearchParams({ id })}`;
export const compareLink = (a, b) => `#compare?${new URLSearchParams(b === undefined ? { a } : { a, b })}`;
