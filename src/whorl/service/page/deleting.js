/** Deletes documents after confirmation. */

import { Failure, request } from "./api.js";
import { byId } from "./dom.js";
import { showProblem } from "./problem.js";
import { changed, nameOf, pathOf } from "./store.js";

/**
 * Delete a document after confirmation.
 * @returns {Promise<boolean>} Whether it was deleted.
 */
export async function forget(document_) {
  const label = nameOf(document_);
  if (!await confirmed(`Delete ${label}?`, "It is deleted from this store. The file it came from is not touched.", "Delete")) return false;
  try {
    await request(pathOf(document_.id), undefined, undefined, "DELETE");
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404) {
      showProblem(byId("incoming-problem"), error);
      return false;
    }
  }
  changed();
  return true;
}

/** Ask for confirmation of an action that cannot be undone. */
export function confirmed(title, explanation, yes) {
  const dialog = byId("confirm");
  byId("confirm-title").textContent = title;
  byId("confirm-told").textContent = explanation;
  byId("confirm-yes").textContent = yes;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}
