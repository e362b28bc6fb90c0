/** Input fields for a document, by id or by a name that is completed while typing. */

import { Failure, ask } from "./api.js";
import { debounce, element, fill } from "./dom.js";
import { counted } from "./format.js";
import { documentsNamed, nameOf, pathOf } from "./store.js";

const PAUSE = 150, SHOWN = 8;
/** Matches a text that is too long for a name: four words, or 20 characters of a script without spaces. */
const TEXT = /\S\s+\S+\s+\S+\s+\S|[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}]{20}/u;

/** An input field for a document. */
export class NameField {
  /** @param {HTMLInputElement} input Input with a `list` for the completions. */
  constructor(input) {
    this.input = input;
    /** Ids by the labels that `set` and the latest completion have shown. */
    this.ids = new Map();
    input.addEventListener("input", () => {
      // What the user types from here on is not a label, even if it becomes equal to one: several documents may have the name.
      if (!this.ids.has(input.value)) this.ids.clear();
    });
    input.addEventListener("input", debounce(PAUSE, () => this.#complete()));
    input.addEventListener("focus", () => this.#complete());
  }

  /** Show a document; if another one of `documents` has the same name, with its id. */
  set(document_, documents = []) {
    const label = this.#label(document_, documents);
    this.ids.set(label, document_.id);
    this.input.value = label;
  }

  /**
   * Return the id of the document in the field; "" if the field is empty. The document is the completed one, else the
   * only one whose name or id contains the typed text, else the one with this id. If no document is found,
   * return null for a text that is too long for a name.
   * @param {function(Object)} chosen Called with the document that the user chooses if several names contain the text.
   */
  async id(chosen) {
    const typed = this.input.value.trim();
    if (!typed || this.ids.has(typed)) return this.ids.get(typed) ?? "";
    const { total, documents } = await documentsNamed(typed, { rows: SHOWN });
    if (total === 1) return documents[0].id;
    try {
      return (await ask(pathOf(typed))).id;
    } catch (error) {
      if (error.status !== 404) throw error;
      if (total) throw this.#several(typed, total, documents, chosen);
      if (TEXT.test(typed)) return null;
      throw error;
    }
  }

  #several(typed, total, documents, chosen) {
    const choices = documents.map((document_) => ({ label: this.#label(document_, documents), choose: () => chosen(document_) }));
    const hint = total > documents.length ? `and ${total - documents.length} more; type more of the name` : "";
    return new Failure(`${counted(total, "document")} with “${typed}” in their name or id: choose one`, { choices, hint });
  }

  /** Return the name of a document, with its id if another one has the same name. */
  #label(document_, documents) {
    const isTwice = documents.some((each) => each.id !== document_.id && nameOf(each) === nameOf(document_));
    return isTwice ? `${nameOf(document_)} – ${document_.id}` : nameOf(document_);
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
    fill(this.input.list, ...found.map((each) => {
      const label = this.#label(each, found);
      this.ids.set(label, each.id);
      return element("option", { value: label });
    }));
  }
}
