/** What the store is, asked once; and the ways to its documents. */

import { ask } from "./api.js";

let asked = null;

/** Return what `/store` says: `documents`, `is_read_only`, `keeps_passages`, `fields`, … */
export function about() {
  asked ??= ask("/store").catch((error) => {
    asked = null;
    throw error;
  });
  return asked;
}

/** Say that documents have come or gone. */
export function changed() {
  asked = null;
  dispatchEvent(new Event("whorl:changed"));
}

/** What stands in more of the documents is common text. */
export const COMMON_ABOVE = "1%";

/**
 * Return what tells common text apart, to be sent with a question: nothing where the store cannot tell.
 * @param {boolean} [isIgnored] Whether it is to count for nothing.
 */
export async function commonText(isIgnored = false) {
  const { keeps_passages: keeps } = await about();
  return keeps ? { common_above: COMMON_ABOVE, ...(isIgnored ? { ignore_common: true } : {}) } : {};
}

/** Offer a box to leave out common text, where the store can tell it. */
export async function offerCommon(box) {
  const { keeps_passages: keeps } = await about();
  box.closest("label").hidden = !keeps;
}

/**
 * Return documents by their names: `total`, `warnings` and `documents`.
 * @param {string} named Parts of their names or ids; "" for all.
 */
export const documentsNamed = (named, { start = 0, rows, signal }) => (
  ask(`/documents?${new URLSearchParams({ named, start, rows })}`, undefined, signal)
);

/** What people call a document. */
export const nameOf = ({ id, name }) => name || id;

/** The address of a document, below that of the API. */
export const pathOf = (id) => `/documents/${encodeURIComponent(id)}`;

/** The addresses of views. */
export const documentLink = (id) => `#document?${new URLSearchParams({ id })}`;
export const sourcesLink = (id) => `#sources?${new URLSearchParams({ id })}`;
export const compareLink = (a, b) => `#compare?${new URLSearchParams(b === undefined ? { a } : { a, b })}`;
