/** View of the quotations of a text: each marked by its verdict, with the places in documents and what differs there. */

import { ask, request } from "./api.js";
import { byId, element, fill, warn } from "./dom.js";
import { counted } from "./format.js";
import { ownSource, sourceOf } from "./hits.js";
import { connectOwn } from "./incoming.js";
import { toUnits } from "./offsets.js";
import { showProblem } from "./problem.js";
import { saveAnswer } from "./saving.js";
import { documentLink, nameOf, pathOf } from "./store.js";
import { TextPane } from "./text-pane.js";
import { NOT_HERE, calledOf, textOf } from "./texts.js";

/** What each verdict says, and its colour: green, yellow or red. */
const VERDICTS = {
  exact: ["Word for word", "exact"],
  edited: ["With changes", "edited"],
  stitched: ["Put together from several places", "edited"],
  misattributed: ["In another document than the one named", "absent"],
  absent: ["In no document", "absent"],
};
let pane, shown = null, going = null, source = null, places = [];

/** Connect the view; call once. */
export function start() {
  connectOwn("verify-own", "verify");
  pane = new TextPane(byId("verify-text"), (at) => choose(places[at].group, false));
  byId("verify-all").addEventListener("change", () => { location.hash = address(); });
  byId("verify-report").addEventListener("click", (event) => report(event.currentTarget));
  addEventListener("whorl:changed", () => { shown = null; });
}

/** Show the quotations for an address. */
export async function show(parameters) {
  if (location.hash === shown) return;
  shown = null;
  going?.abort();
  const mark = parameters.get("text"), id = parameters.get("id");
  byId("verify-all").checked = parameters.get("all") === "true";
  byId("verified").hidden = true;
  byId("verify-busy").textContent = "";
  showProblem(byId("verify-problem"), null);
  const own = mark === null ? null : textOf(mark);
  byId("verify-own").hidden = byId("verify-blank").hidden = Boolean(own) || id !== null;
  byId("verify-blank").textContent = mark === null
    ? "Each quotation is looked up in your documents: what stands there word for word is green, what differs is yellow, "
      + "and what stands nowhere is red." : NOT_HERE;
  byId("verify-title").textContent = own ? calledOf(own) : mark === null ? id ?? "Check quotations" : "A text that is not here";
  source = own ? ownSource(mark, own) : id === null ? null : sourceOf({ id, name: "" });
  if (source) await run();
}

function address() {
  const wanted = new URLSearchParams(source.mark ? { text: source.mark } : { id: source.id });
  if (byId("verify-all").checked) wanted.set("all", "true");
  return `#verify?${wanted}`;
}

function question() {
  return { ...(source.mark ? { text: source.text } : { id: source.id }), all: byId("verify-all").checked };
}

async function run() {
  going = new AbortController();
  const { signal } = going;
  shown = location.hash;
  byId("verify-busy").textContent = "Looking the quotations up …";
  try {
    const [answer, document_] = await Promise.all([
      ask("/verify", question(), signal),
      source.mark ? null : ask(`${pathOf(source.id)}?text=true`, undefined, signal),
    ]);
    if (document_) {
      source = sourceOf(document_);
      byId("verify-title").textContent = source.called;
    }
    showQuotations(answer, answer.text.content ?? (source.mark ? source.text : document_.text));
  } catch (error) {
    if (signal.aborted) return;
    shown = null;
    showProblem(byId("verify-problem"), error);
  } finally {
    if (!signal.aborted) byId("verify-busy").textContent = "";
  }
}

/** Save the verdicts as an HTML report. */
async function report(button) {
  button.disabled = true;
  try {
    const name = byId("verify-title").textContent;
    await saveAnswer(await request("/verify", { ...question(), name, format: "html" }), "quotations.html");
  } catch (error) {
    showProblem(byId("verify-problem"), error);
  } finally {
    button.disabled = false;
  }
}

function showQuotations({ quotations, counts, documents, warnings }, text) {
  byId("verified").hidden = false;
  byId("verify-told").textContent = headline(counts.exact, quotations.length);
  byId("verify-how").textContent = quotations.length ? `Looked up in ${counted(documents, "document")}.`
    : "Nothing stands between quotation marks or in a block quote.";
  warn(byId("verify-warnings"), warnings);
  const units = toUnits(text, quotations.map((each) => each.place));
  places = units.map((place, at) => ({ ...place, group: at, kind: VERDICTS[quotations[at].verdict][1] }));
  pane.show(text, places);
  fill(byId("quotations"), ...quotations.map(row));
}

function headline(exact, all) {
  if (!all) return "Nothing is quoted here";
  const which = exact < all ? `${exact} of ${counted(all, "quotation")}` : all === 1 ? "The quotation" : `All ${counted(all, "quotation")}`;
  return `${which} ${exact === 1 ? "stands" : "stand"} in a document word for word`;
}

function row(quotation, at) {
  const [meaning, kind] = VERDICTS[quotation.verdict];
  return element(
    `li.source.verdict.${kind}`, { "data-group": at },
    element("h3", {}, element("button.plain", {
      type: "button", "aria-label": `${quotation.verdict}: show quotation ${at + 1} in the text`, onclick: () => choose(at, true),
    }, quotation.verdict), element("span.quiet", {}, ` ${meaning}`)),
    element("blockquote", {}, quotation.quote),
    quotation.source ? element("p.quiet", {}, `Source named: ${quotation.source}`) : null,
    ...quotation.notes.map((note) => element("p.quiet", {}, note)),
    ...quotation.places.map((place) => placeOf(quotation, place)),
    quotation.verdict === "absent" && quotation.looked_up
      ? element("p.quiet", {}, `${counted(quotation.looked_up.runs.length, "run")} of its words looked up, found in no document`) : null,
  );
}

/** Return a place in a document: its words, with what the quotation changed. */
function placeOf(quotation, place) {
  const marked = [], units = toUnits(place.text, place.differences.map(({ document_place: range }) => (
    { start: Math.max(0, range.start - place.start), end: Math.min(place.text.length, range.end - place.start) }
  )));
  let at = 0;
  place.differences.forEach(({ quote }, number) => {
    const { start, end } = units[number];
    marked.push(place.text.slice(at, start));
    if (end > start) marked.push(element("del", {}, place.text.slice(start, end)));
    if (quote) marked.push(element("ins", {}, quote));
    at = end;
  });
  marked.push(place.text.slice(at));
  return element(
    "div.place", {},
    element("p", {}, element("a", { href: documentLink(place.id) }, nameOf(place)), ` line ${place.first_line}`),
    place.differences.length || quotation.places.length > 1 ? element("blockquote", {}, ...marked) : null,
  );
}

function choose(group, isToScroll) {
  pane.choose(group);
  if (isToScroll) {
    pane.scrollTo(places[group].start);
    if (byId("verify-text").getBoundingClientRect().top < 0) byId("verify-text").scrollIntoView({ block: "center" });
  }
  for (const each of byId("quotations").children) each.classList.toggle("on", Number(each.dataset.group) === group);
  if (!isToScroll) byId("quotations").children[group]?.scrollIntoView({ block: "nearest" });
}
