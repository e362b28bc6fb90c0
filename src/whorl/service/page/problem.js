/** Shows errors. If a query is wrong, a caret below it marks the position, as on the command line. */

import { element, fill } from "./dom.js";
import { documentLink } from "./store.js";

const BEFORE = 60, BEHIND = 40, WIDTH = 140;

/** Show a failure; null hides it. */
export function showProblem(place, failure, query = "") {
  if (failure === null) {
    fill(place);
    return;
  }
  const shown = element("div.problem", {}, element("p", {}, element("b", {}, failure.message)));
  if (failure.span) shown.append(caret(query, failure.span));
  if (failure.choices?.length) {
    shown.append(element("ul.choices", {}, ...failure.choices.map(({ label, choose }) => (
      element("li", {}, element("button", { type: "button", onclick: choose }, label))
    ))));
  }
  if (failure.hint) shown.append(element("p", {}, failure.hint));
  if (failure.suggested) {
    shown.append(element("p", {}, element("a", { href: documentLink(failure.suggested) }, `Open ${failure.suggested}`)));
  }
  fill(place, shown);
}

/**
 * Disable a button while a function runs, and show its failure.
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} place Element for the failure.
 * @param {function(): Promise} work
 * @param {{signal: ?AbortSignal, query: ?string}} [options] No failure is shown after `signal` has aborted; `query` is
 *   the query that a failure may refer to.
 */
export async function attempt(button, place, work, { signal, query } = {}) {
  button.disabled = true;
  try {
    await work();
  } catch (error) {
    if (!signal?.aborted) showProblem(place, error, query);
  } finally {
    button.disabled = false;
  }
}

/** Draw the query around a position, with a caret below it; hidden copies of the characters align the caret. */
function caret(query, span) {
  const points = Array.from(query);
  const begin = Math.max(0, span.start - BEFORE);
  const end = Math.min(points.length, Math.max(span.end, span.start) + BEHIND, begin + WIDTH);
  const visible = (from, to) => points.slice(from, to).join("").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "·");
  const lead = begin ? "…" : "", tail = end < points.length ? "…" : "";
  const wrong = visible(span.start, Math.min(span.end, end));
  const before = lead + visible(begin, span.start);
  const marker = "^".repeat(Math.max(1, Math.min(span.end, end) - span.start));
  return element(
    "pre", { "aria-label": `The mistake is at character ${span.start + 1}: ${wrong || "here something is missing"}` },
    before, element("span.at", {}, wrong), visible(Math.min(span.end, end), end), tail, "\n",
    element("span.under", { "aria-hidden": "true" }, before), element("span.at.caret", { "aria-hidden": "true" }, marker),
  );
}
