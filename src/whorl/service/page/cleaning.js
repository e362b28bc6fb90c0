/** Deletes documents after confirmation: one, or a list of documents that the user marks in clusters. */

import { Failure, request } from "./api.js";
import { byId, element } from "./dom.js";
import { counted, whole } from "./format.js";
import { attempt, showProblem } from "./problem.js";
import { save } from "./files.js";
import { about, changed, nameOf, pathOf } from "./store.js";

/**
 * Delete a document after confirmation.
 * @returns {Promise<boolean>} Whether it was deleted.
 */
export async function forget(document_) {
  const label = nameOf(document_);
  if (!await confirmed(`Delete ${label}?`, "It is deleted from this store. The file it came from is not touched.", "Delete")) return false;
  try {
    await remove(document_.id);
  } catch (error) {
    showProblem(byId("incoming-problem"), error);
    return false;
  }
  changed();
  return true;
}

/** Delete a document, unless another user has deleted it already. */
async function remove(id) {
  try {
    await request(pathOf(id), undefined, undefined, "DELETE");
  } catch (error) {
    if (!(error instanceof Failure) || error.status !== 404) throw error;
  }
}

/** Ask for confirmation of an action that cannot be undone. */
function confirmed(title, explanation, yes) {
  const dialog = byId("confirm");
  byId("confirm-title").textContent = title;
  byId("confirm-told").textContent = explanation;
  byId("confirm-yes").textContent = yes;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

/** The list of marked documents, to download or, if allowed, to delete. */
export class Cleaning {
  /**
   * @param {function(): ?string} job Returns the address of the job whose clusters are shown.
   * @param {function(Object): boolean} isDuplicate Whether a member is a duplicate of the first of its cluster.
   */
  constructor(job, isDuplicate) {
    [this.job, this.isDuplicate] = [job, isDuplicate];
    /** Maps the id of each marked document to its display name. */
    this.marked = new Map();
    byId("cleaning-all").addEventListener("click", (event) => this.#markEverywhere(event.currentTarget));
    byId("cleaning-none").addEventListener("click", () => this.forget());
    byId("cleaning-download").addEventListener("click", () => this.#download());
    byId("cleaning-delete").addEventListener("click", () => this.#delete());
  }

  /** Return the checkbox of a document. */
  box(document_) {
    const box = element("input", { type: "checkbox", "data-id": document_.id, "aria-label": `Delete ${nameOf(document_)}` });
    box.checked = this.marked.has(document_.id);
    box.addEventListener("change", () => {
      if (box.checked) this.marked.set(document_.id, nameOf(document_));
      else this.marked.delete(document_.id);
      this.#show();
    });
    return box;
  }

  /** Mark documents. */
  markAll(documents) {
    for (const each of documents) this.marked.set(each.id, nameOf(each));
    this.#show();
  }

  /** Unmark all documents. */
  forget() {
    this.marked.clear();
    this.#show();
  }

  async #show() {
    const count = this.marked.size;
    for (const box of byId("clusters").querySelectorAll("input[data-id]")) box.checked = this.marked.has(box.dataset.id);
    byId("cleaning").hidden = !count;
    byId("cleaning-told").textContent = `${counted(count, "document")} marked`;
    byId("cleaning-delete").textContent = `Delete ${whole(count)} …`;
    byId("cleaning-delete").hidden = (await about().catch(() => ({ is_read_only: true }))).is_read_only;
  }

  /** Mark all duplicates of the first document of each cluster, including clusters that are not shown. */
  #markEverywhere(button) {
    return attempt(button, byId("clusters-error"), async () => {
      const lines = await (await request(`${this.job()}?format=json`)).text();
      const clusters = lines.trim() ? lines.trim().split("\n").map((line) => JSON.parse(line)) : [];
      this.markAll(clusters.flatMap(({ members }) => members.filter(this.isDuplicate)));
    });
  }

  #download() {
    const lines = [...this.marked.keys()].map((id) => `${id}\n`).join("");
    save(new Blob([lines], { type: "text/plain;charset=utf-8" }), "delete.txt");
  }

  async #delete() {
    const ids = [...this.marked.keys()], count = counted(ids.length, "document");
    const explanation = "They are deleted from this store for good. The files they came from are not touched. "
      + "The list can be downloaded first.";
    if (!await confirmed(`Delete ${count}?`, explanation, `Delete ${count}`)) return;
    let done = 0;
    try {
      for (const id of ids) {
        byId("cleaning-told").textContent = `${whole(done)} of ${count} deleted`;
        await remove(id);
        this.marked.delete(id);
        for (const box of byId("clusters").querySelectorAll(`input[data-id="${CSS.escape(id)}"]`)) box.closest("tr").classList.add("gone");
        done += 1;
      }
    } catch (error) {
      showProblem(byId("clusters-error"), error);
    }
    await this.#show();
    byId("cleaning").hidden = !this.marked.size;
    byId("clusters-done").textContent = `${counted(done, "document")} deleted.`;
    for (const box of byId("clusters").querySelectorAll("tr.gone input")) box.disabled = true;
    changed();
  }
}
