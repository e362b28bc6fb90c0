/** Base of the views of sources and of quotations: the text that the address names, its request and its report. */

import { ask, request } from "./api.js";
import { byId, renew } from "./dom.js";
import { ownSource, sourceOf } from "./hits.js";
import { connectOwn } from "./incoming.js";
import { attempt, showProblem } from "./problem.js";
import { saveAnswer } from "./files.js";
import { pathOf } from "./store.js";
import { NOT_HERE, inSentence, textOf } from "./texts.js";

/**
 * @typedef {Object} TextViewParts
 * @property {Object} box Labels of the form for a text, see `words` of `connectOwn` in incoming.js.
 * @property {string} about Description of the view, shown below the box.
 * @property {string} busy Message during a request.
 * @property {string} file Name of a saved report.
 * @property {function(?string): string} title Returns the heading for the name of a text, or for null if there is no
 *   text.
 * @property {function(URLSearchParams)} read Sets the controls to the values in an address.
 * @property {function(URLSearchParams)} write Adds the values of the controls to an address.
 * @property {function(): Object|Promise<Object>} options Returns the fields of the request that the controls set.
 * @property {function(Object, string)} draw Shows the answer for a text.
 * @property {function(): string} [query] Returns the query among the controls, for messages.
 */

/** View of one text, which the service compares with the documents of the store. */
export class TextView {
  #name;
  #parts;
  #shown = null;
  #going = null;

  /**
   * Connect the view; call once.
   * @param {string} name Name of the view and of its request; the ids of its elements begin with it.
   * @param {TextViewParts} parts
   */
  constructor(name, parts) {
    this.#name = name;
    this.#parts = parts;
    this.source = null;
    connectOwn(`${name}-own`, name, parts.box);
    this.#element("report").addEventListener("click", (event) => this.#report(event.currentTarget));
    addEventListener("whorl:changed", () => { this.#shown = null; });
  }

  /** Show the text of an address. */
  async show(parameters) {
    if (location.hash === this.#shown) return;
    this.#shown = null;
    this.#going?.abort();
    const mark = parameters.get("text"), id = parameters.get("id");
    const own = mark === null ? null : textOf(mark);
    this.source = own ? ownSource(mark, own) : id === null ? null : sourceOf({ id, name: "" });
    this.#parts.read(parameters);
    this.#clear("");
    this.#element("own").hidden = this.#element("blank").hidden = this.source !== null;
    this.#element("blank").textContent = mark === null ? this.#parts.about : NOT_HERE;
    this.#showTitle(own ? inSentence(own) : id ?? (mark === null ? null : "a text that is not here"));
    if (this.source) await this.#run();
  }

  /** Go to the address that the controls describe. If it is the current address, repeat the request. */
  apply() {
    const { mark, id } = this.source, wanted = new URLSearchParams(mark ? { text: mark } : { id });
    this.#parts.write(wanted);
    const hash = `#${this.#name}?${wanted}`;
    if (location.hash === hash) this.#run();
    else location.hash = hash;
  }

  #element(part) {
    return byId(`${this.#name}-${part}`);
  }

  #clear(busy) {
    this.#element("answer").hidden = true;
    this.#element("busy").textContent = busy;
    showProblem(this.#element("problem"), null);
  }

  #showTitle(name) {
    this.name = name;
    this.#element("title").textContent = this.#parts.title(name);
  }

  async #question() {
    const { mark, text, id } = this.source;
    return { ...(mark ? { text } : { id }), ...await this.#parts.options() };
  }

  async #run() {
    this.#going = renew(this.#going);
    const { signal } = this.#going, { mark, text, id } = this.source;
    this.#shown = location.hash;
    this.#clear(this.#parts.busy);
    try {
      const [answer, document_] = await Promise.all([
        this.#question().then((question) => ask(`/${this.#name}`, question, signal)),
        mark ? null : ask(`${pathOf(id)}?text=true`, undefined, signal),
      ]);
      if (document_) {
        this.source = sourceOf(document_);
        this.#showTitle(this.source.called);
      }
      this.#element("answer").hidden = false;
      this.#parts.draw(answer, answer.text.content ?? (mark ? text : document_.text));
    } catch (error) {
      if (signal.aborted) return;
      this.#shown = null;
      showProblem(this.#element("problem"), error, this.#parts.query?.());
    } finally {
      if (!signal.aborted) this.#element("busy").textContent = "";
    }
  }

  /** Save the answer as an HTML report. */
  #report(button) {
    return attempt(button, this.#element("problem"), async () => {
      const question = { ...await this.#question(), name: this.name, format: "html" };
      await saveAnswer(await request(`/${this.#name}`, question), this.#parts.file);
    }, { query: this.#parts.query?.() });
  }
}

/** Highlight a passage and its item in a list. Scroll to the passage if `isToScroll` is true, otherwise to the item. */
export function choosePlace(pane, list, { group, start }, isToScroll) {
  pane.choose(group);
  for (const each of list.children) each.classList.toggle("on", Number(each.dataset.group) === group);
  if (!isToScroll) return void list.children[group]?.scrollIntoView({ block: "nearest" });
  pane.scrollTo(start);
  if (pane.box.getBoundingClientRect().top < 0) pane.box.scrollIntoView({ block: "center" });
}
