/** View of a text's quotations: each in the colour of its verdict, with its places in documents and the differences. */

import { byId, element, fill, warn } from "./dom.js";
import { counted } from "./format.js";
import { toUnits } from "./offsets.js";
import { documentLink, nameOf } from "./store.js";
import { TextPane } from "./text-pane.js";
import { TextView, choosePlace } from "./text-view.js";

/** Label of each verdict, and the class of its colour: green, yellow or red. */
const VERDICTS = {
  exact: ["Word for word", "exact"],
  edited: ["With changes", "edited"],
  stitched: ["Put together from several places", "edited"],
  misattributed: ["In another document than the one named", "absent"],
  absent: ["In no document", "absent"],
};
let pane, view, places = [];

export function start() {
  const all = byId("verify-all");
  view = new TextView("verify", {
    box: {
      label: "A text that quotes", placeholder: "Paste an answer or a report, or drop a file anywhere on this page",
      button: "Check its quotations",
    },
    about: "Each quotation is looked up in your documents: what is there word for word is green, what differs is yellow, "
      + "and what stands nowhere is red.",
    busy: "Looking the quotations up …",
    file: "quotations.html",
    title: (name) => (name === null ? "Check quotations" : `Quotations of ${name}`),
    read: (parameters) => { all.checked = parameters.get("all") === "true"; },
    write: (wanted) => { if (all.checked) wanted.set("all", "true"); },
    options: () => ({ all: all.checked, markup: view.source.markup }),
    draw: showQuotations,
  });
  pane = new TextPane(byId("verify-text"), (at) => choose(at, false));
  all.addEventListener("change", () => view.apply());
}

export const show = (parameters) => view.show(parameters);

function showQuotations({ quotations, counts, documents, warnings }, text) {
  byId("verify-told").textContent = headline(counts.exact, quotations.length);
  byId("verify-how").textContent = quotations.length ? `Looked up in ${counted(documents, "document")}.`
    : "Nothing stands between quotation marks or in a block quote.";
  warn(byId("verify-warnings"), warnings);
  // Quotations that are given as JSON have no place in a text.
  const groups = [...quotations.keys()].filter((group) => quotations[group].place);
  const units = toUnits(text, groups.map((group) => quotations[group].place));
  places = units.map((place, at) => ({ ...place, group: groups[at], kind: VERDICTS[quotations[groups[at]].verdict][1] }));
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
      ? element("p.quiet", {}, `${counted(quotation.looked_up.runs.length, "run")} of its words looked up; ${
        quotation.looked_up.is_complete ? "no document has it" : "the documents that were read do not have it"}`) : null,
  );
}

/** Draw a place in a document: its words, with the quotation's changes marked. */
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
  const page = place.page ? `page ${place.page}, ` : "";
  return element(
    "div.place", {},
    element("p", {}, element("a", { href: documentLink(place.id) }, nameOf(place)), ` ${page}line ${place.first_line}`),
    place.differences.length || quotation.places.length > 1 ? element("blockquote", {}, ...marked) : null,
  );
}

function choose(group, isToScroll) {
  const place = places.find((each) => each.group === group);
  if (place) choosePlace(pane, byId("quotations"), place, isToScroll);
}
