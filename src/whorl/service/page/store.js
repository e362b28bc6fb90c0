/** What the store is, asked once; and the ways to its documents. */

import { ask } from "./api.js";

let asked = null;

/** Return what `/api/store` says: `documents`, `is_read_only`, `keeps_passages`, `fields`, … */
export function about() {
  asked ??= ask("/api/store").catch((error) => {
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

/** Return what tells common text apart, to be sent with a question: nothing where the store cannot tell. */
export async function commonText() {
  const { keeps_passages: keeps } = await about();
  return keeps ? { common_above: "1%" } : {};
}

/** What people call a document. */
export const nameOf = ({ id, name }) => name || id;

/** The address of a document under /api. */
export const pathOf = (id) => `/api/documents/${encodeURIComponent(id)}`;

/** The addresses of views. */
export const documentLink = (id) => `#document?${new URLSearchParams({ id })}`;
export const sourcesLink = (id) => `#sources?${new URLSearchParams({ id })}`;
export const compareLink = (a, b) => `#compare?${new URLSearchParams(b === undefined ? { a } : { a, b })}`;
