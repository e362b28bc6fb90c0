/** Input fields for a document, by id or by a name that is completed while typing. */

import { element, fill, settled } from "./dom.js";
import { documentsNamed, nameOf } from "./store.js";

const PAUSE = 150, SHOWN = 8;

/** An input field for a document. */
export class NameField {
  /** @param {HTMLInputElement} input Input with a `list` for the completions. */
  constructor(input) {
    this.input = input;
    this.ids = new Map();
    input.addEventListener("input", settled(PAUSE, () => this.#complete()));
    input.addEventListener("focus", () => this.#complete());
  }

  /** Show a document. */
  set(document_) {
    const label = nameOf(document_);
    this.ids.set(label, document_.id);
    this.input.value = label;
  }

  /**
   * Return the id of the document in the field: the completed one, the only one whose name contains the typed text, or
   * the typed text itself.
   */
  async id() {
    const typed = this.input.value.trim();
    if (!typed || this.ids.has(typed)) return this.ids.get(typed) ?? "";
    const { total, documents } = await documentsNamed(typed, { rows: 2 });
    return total === 1 ? documents[0].id : typed;
  }

  async #complete() {
    if (this.ids.has(this.input.value)) return;
    const typed = this.input.value;
    let found;
    try {
      found = (await documentsNamed(typed, { rows: SHOWN })).documents;
    } catch {
      return; // Completion is optional.
    }
    if (typed !== this.input.value) return;
    const isTwice = (label) => found.filter((each) => nameOf(each) === label).length > 1;
    fill(this.input.list, ...found.map((each) => {
      const label = isTwice(nameOf(each)) ? `${nameOf(each)} – ${each.id}` : nameOf(each);
      this.ids.set(label, each.id);
      return element("option", { value: label });
    }));
  }
}
