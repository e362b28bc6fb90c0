/** Two documents side by side, with their shared passages marked in both and counted exactly. */

import { ask } from "./api.js";
import { chain } from "./passage-chain.js";
import { byId, element, fill, inSteps, onFiles, renew, warn } from "./dom.js";
import { textIn, withName } from "./files.js";
import { bar, counted, percent, whole } from "./format.js";
import { NameField } from "./names.js";
import { toUnits } from "./offsets.js";
import { showProblem } from "./problem.js";
import { COMMON_ABOVE, commonText, documentLink, pathOf } from "./store.js";
import { TextPane } from "./text-pane.js";
import { NOT_HERE, calledOf, keep, lastMark, textOf } from "./texts.js";

const SIDES = ["a", "b"];
const bySide = (make) => Object.fromEntries(SIDES.map((side) => [side, make(side)]));
const LISTED = 50;
/** Maximum number of characters of a passage in the list. */
const SAID = 160;
/** Maximum length of a pasted line that may be a name. A longer line is a text. */
const NAMED = 200;
const STRIP = 400;
const SVG = "http://www.w3.org/2000/svg";
/** Matches a narrow window, which shows one text below the other. */
const NARROW = matchMedia("(max-width: 48rem)");
/** Mark of the user's own text on each side (see texts.js); null if a document is on this side. */
const marks = { a: null, b: null };
/**
 * The shown comparison. `places` has the marked ranges of each side, `starts` the start of each passage or difference on
 * each side, `changes` the words of each difference, and `aligned` pairs of corresponding positions in A and B, in order.
 */
let compared = null, places, starts, changes = [], aligned = [];
let fields, panes, listPassages, chosen, shown = null, going = null, opened = 0;

export function start() {
  fields = bySide((side) => new NameField(byId(`side-${side}`)));
  panes = bySide((side) => new TextPane(byId(`text-${side}`), (place, clicked) => {
    // Scroll the other side to the same height.
    const top = clicked.getBoundingClientRect().top - byId(`text-${side}`).getBoundingClientRect().top;
    choose(places[side][place].group, side, top);
  }));
  listPassages = inSteps(byId("passages"), byId("passages-more"), LISTED);
  byId("pair").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const wanted = await address();
      if (location.hash === wanted) run();
      else location.hash = wanted;
    } catch (error) {
      showProblem(byId("compare-error"), error);
    }
  });
  for (const side of SIDES) {
    byId(`own-${side}`).addEventListener("click", () => {
      marks[side] = marks[side] === null ? lastMark() : null;
      showSides();
    });
    byId(`side-${side}`).addEventListener("paste", (event) => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (text.trim().length <= NAMED && !text.trim().includes("\n")) return;
      event.preventDefault();
      takeText(side, text, "");
    });
    onFiles(byId(`file-${side}`), ([file]) => takeFile(side, file));
    panes[side].onScroll(() => follow(side));
  }
  byId("differences").addEventListener("change", () => {
    if (compared) paint();
  });
  byId("step-on").addEventListener("click", () => step(1));
  byId("step-back").addEventListener("click", () => step(-1));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, dialog");
    if (byId("view-compare").hidden || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") step(1);
    if (event.key === "p") step(-1);
  });
  addEventListener("whorl:changed", () => { shown = null; });
}

export async function show(parameters) {
  opened += 1;
  const own = opened;
  if (location.hash === shown) return;
  if (!parameters.size) {
    // The user has returned to the empty page: cancel the comparison, but keep the typed names.
    going?.abort();
    shown = null;
    hideCompared();
    showSides();
    return;
  }
  const documents = {};
  for (const side of SIDES) {
    const id = parameters.get(side);
    marks[side] = parameters.get(`text-${side}`);
    documents[side] = id === null ? null : await documentOf(id);
    // Stop if another address was opened in the meantime.
    if (own !== opened) return;
  }
  for (const side of SIDES) {
    if (documents[side] !== null) fields[side].set(documents[side], Object.values(documents).filter(Boolean));
    else if (marks[side] === null) byId(`side-${side}`).value = "";
  }
  showSides();
  if (SIDES.every((side) => parameters.has(side) || parameters.has(`text-${side}`))) await run();
  else {
    hideCompared();
    byId(parameters.has("a") || parameters.has("text-a") ? "side-b" : "side-a").focus();
  }
}

function hideCompared() {
  byId("compared").hidden = true;
  byId("compare-blank").hidden = false;
  byId("compare-busy").textContent = "";
  showProblem(byId("compare-error"), null);
}

/** Return the side for the user's next own text: the first empty side, or else B. */
export const freeSide = () => SIDES.find((side) => marks[side] === null && !byId(`side-${side}`).value) ?? "b";

/** Use a file as one side. */
export async function takeFile(side, file) {
  if (!file) return;
  showProblem(byId("compare-error"), null);
  try {
    takeText(side, await textIn(file), file.name);
  } catch (error) {
    showProblem(byId("compare-error"), withName(error, file.name));
  }
}

/** Use the user's own text as one side, and compare the sides if both are filled. */
export function takeText(side, text, name) {
  marks[side] = keep(text, name);
  showSides();
  const other = side === "a" ? "b" : "a";
  if (marks[other] !== null || byId(`side-${other}`).value.trim()) byId("pair").requestSubmit();
  else byId(`side-${other}`).focus();
}

/** Return the document of an id. Its name is "" if the document cannot be read. */
async function documentOf(id) {
  try {
    return { ...await ask(pathOf(id)), id };
  } catch {
    // The id may be a DBID, or may not exist. The comparison reports an unknown id.
    return { id, name: "" };
  }
}

function showSides() {
  const last = lastMark();
  for (const side of SIDES) {
    const input = byId(`side-${side}`), mark = marks[side], own = mark === null ? null : textOf(mark);
    byId(`own-${side}`).hidden = last === null && mark === null;
    input.disabled = mark !== null;
    input.placeholder = mark === null ? "Type a part of its name, or paste a text" : own ? calledOf(own) : "A text that is not here";
    if (mark !== null) input.value = "";
    byId(`own-${side}`).setAttribute("aria-pressed", String(mark !== null));
  }
}

async function address() {
  const parameters = new URLSearchParams();
  for (const side of SIDES) {
    const id = marks[side] === null ? await idOf(side) : null;
    if (id === null) parameters.append(`text-${side}`, marks[side]);
    else parameters.set(side, id);
  }
  showSides();
  return `#compare?${parameters}`;
}

/** Return the id of a side's document; null if the field contains a text, which then becomes that side. */
async function idOf(side) {
  const input = byId(`side-${side}`), typed = input.value;
  const id = await fields[side].id((document_) => {
    fields[side].set(document_);
    byId("pair").requestSubmit();
  });
  if (id === null) marks[side] = keep(typed, "");
  return id;
}

async function run() {
  going = renew(going);
  const { signal } = going;
  shown = location.hash;
  byId("compare-blank").hidden = true;
  byId("compared").hidden = true;
  showProblem(byId("compare-error"), null);
  try {
    const pair = {};
    for (const side of SIDES) pair[side] = await sideOf(side);
    if (signal.aborted) return;
    byId("compare-busy").textContent = "Comparing …";
    const comparison = await ask("/compare", { ...pair, texts: "whole", differences: true, ...await commonText() }, signal);
    showCompared(comparison);
  } catch (error) {
    if (signal.aborted) return;
    shown = null;
    showProblem(byId("compare-error"), error);
  } finally {
    if (!signal.aborted) byId("compare-busy").textContent = "";
  }
}

async function sideOf(side) {
  if (marks[side] !== null) {
    const own = textOf(marks[side]);
    if (own === null) throw new Error(NOT_HERE);
    return { text: own.text };
  }
  const id = await idOf(side);
  if (id === null) return { text: textOf(marks[side]).text };
  if (id) return { id };
  byId(`side-${side}`).focus();
  throw new Error(`Document ${side.toUpperCase()} is missing: write a part of its name.`);
}

function showCompared(comparison) {
  const both = comparison.a.shingles + comparison.b.shingles - comparison.shared_shingles, rest = comparison.without_common;
  const [a, b] = SIDES.map((side) => (marks[side] === null ? comparison[side].name : "your text"));
  const shared = whole(comparison.shared_shingles);
  fill(
    byId("shares"),
    stat(`of ${a} is in ${b}`, comparison, "a_in_b", `${shared} of its ${whole(comparison.a.shingles)} runs of five words`, "first"),
    stat(`of ${b} is in ${a}`, comparison, "b_in_a", `${shared} of its ${whole(comparison.b.shingles)} runs of five words`, "second"),
    stat("of both together is in both", comparison, "jaccard", `Jaccard: ${shared} of the ${whole(both)} runs that either has`, "second"),
  );
  const common = rest ? rest.a.common_words + rest.b.common_words : 0;
  byId("common-told").hidden = !common;
  byId("common-told").textContent = common
    ? `Grey is common text: more than ${COMMON_ABOVE.replace("%", " %")} of all documents have it, as with letterheads and templates. `
      + `It is ${counted(rest.a.common_words, "word")} of A and ${counted(rest.b.common_words, "word")} of B.` : "";
  warn(byId("compare-warnings"), comparison.warnings);
  byId("compared").hidden = false;
  compared = comparison;
  for (const side of SIDES) {
    const { name, words: length, coverage } = comparison[side];
    fill(byId(`name-${side}`), marks[side] === null
      ? element("a", { href: documentLink(fields[side].ids.get(byId(`side-${side}`).value) ?? name) }, name)
      : calledOf(textOf(marks[side])));
    byId(`covered-${side}`).textContent = `${counted(length, "word")}, ${percent(coverage)} of them in shared passages`;
  }
  paint();
}

/** Mark the shared passages, or the differences, in both texts. */
function paint() {
  const { passages, without_common: rest } = compared;
  const shared = bySide((side) => toUnits(compared[side].text, passages.map((passage) => passage[side])));
  if (isDifferent()) {
    const found = bySide((side) => toUnits(compared[side].text, compared.differences.map((each) => each[side])));
    places = bySide((side) => found[side].map((range, group) => ({ ...range, group, kind: "differs" })).filter(({ start, end }) => start < end));
    starts = bySide((side) => found[side].map(({ start }) => start));
    changes = found.a.map((_, at) => bySide((side) => compared[side].text.slice(found[side][at].start, found[side][at].end)));
  } else {
    places = bySide((side) => shared[side].map((range, group) => ({ ...range, group })));
    starts = bySide((side) => shared[side].map(({ start }) => start));
  }
  for (const side of SIDES) {
    const { text } = compared[side];
    panes[side].show(text, places[side], rest && !isDifferent() ? toUnits(text, rest[side].common) : []);
    showStrip(side);
  }
  const ends = bySide((side) => compared[side].text.length);
  aligned = [{ a: 0, b: 0 }, ...chain(shared).flatMap(({ a, b }) => [{ a: a.start, b: b.start }, { a: a.end, b: b.end }]), ends];
  list(shared.a);
  chosen = null;
  byId("step-on").disabled = byId("step-back").disabled = !starts.a.length;
  tellStep();
}

const isDifferent = () => byId("differences").checked;

/** List the shared passages, or the differences. */
function list(inA) {
  byId("passages-title").textContent = isDifferent() ? "What differs, in the order of the texts" : "Shared passages, the longest first";
  listPassages(isDifferent() ? changes : compared.passages, (item, at) => element("li", {}, element(
    "button", { type: "button", onclick: () => choose(at), "data-passage": at }, element("span.nr", {}, `${at + 1}.`),
    ...(isDifferent() ? [element("span.said.change", {}, ...changeOf(item))]
      : [element("span.words", {}, counted(item.words, "word")), element("span.said", {}, beginning(compared.a.text, inA[at]))]),
  )));
}

/** Describe a difference: the words of A, and the words of B that replace them. */
function changeOf({ a, b }) {
  const said = (words) => element("b", {}, beginning(words, { start: 0, end: words.length }));
  if (!a) return ["only in B: ", said(b)];
  if (!b) return ["only in A: ", said(a)];
  return ["A has ", said(a), ", B has ", said(b)];
}

function stat(title, comparison, name, formula, kind) {
  const share = comparison[name], rest = comparison.without_common;
  const isOther = rest && percent(rest[name]) !== percent(share);
  return element(
    "div.stat", {}, element("h2", {}, element("span.big", {}, percent(share)), ` ${title}`), bar(share, share, share, kind),
    isOther ? element("p.rest", {}, `${percent(rest[name])} if common text is left out`) : null, element("p.quiet", {}, formula),
  );
}

function beginning(text, { start, end }) {
  const said = text.slice(start, Math.min(end, start + SAID)).replace(/\s+/gu, " ");
  return end - start > SAID ? `${said} …` : said;
}

/** Draw a map of the passages' positions in the text. */
function showStrip(side) {
  const drawn = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  drawn.setAttribute("class", "strip");
  drawn.setAttribute("viewBox", `0 0 ${STRIP} 8`);
  drawn.setAttribute("preserveAspectRatio", "none");
  drawn.setAttribute("aria-hidden", "true");
  const density = panes[side].density(STRIP);
  path.setAttribute("d", Array.from(density, (share, at) => (share > 0 ? `M${at + 0.5} 8v${(-8 * share).toFixed(2)}` : "")).join(""));
  drawn.append(path);
  drawn.addEventListener("click", (event) => panes[side].scrollToShare(event.offsetX / drawn.clientWidth));
  fill(byId(`strip-${side}`), drawn);
}

function step(by) {
  const count = starts?.a.length;
  if (!count || byId("compared").hidden) return;
  choose(chosen === null ? (by > 0 ? 0 : count - 1) : (chosen + by + count) % count);
}

/** Highlight a passage or a difference, and scroll to it. */
function choose(group, clicked = null, top = undefined) {
  chosen = group;
  for (const side of SIDES) {
    panes[side].choose(group);
    if (side !== clicked) panes[side].scrollTo(starts[side][group], top);
  }
  for (const button of byId("passages").querySelectorAll("button")) {
    if (Number(button.dataset.passage) === group) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  // On a phone, the texts may be outside of the visible part.
  if (clicked === null && NARROW.matches) byId("panes").scrollIntoView({ block: "start" });
  tellStep();
}

/** Scroll the other text so that common passages stay next to each other. */
function follow(side) {
  if (!byId("together").checked) return;
  const [other] = SIDES.filter((each) => each !== side), { box } = panes[side];
  const share = box.scrollTop / Math.max(1, box.scrollHeight - box.clientHeight);
  // At the ends, both texts show their first or last lines.
  const place = panes[side].placeAt(share * box.clientHeight), height = panes[side].heightOf(place);
  const at = Math.max(1, aligned.findIndex((pair) => pair[side] >= place));
  const before = aligned[at - 1], after = aligned[at], length = after[side] - before[side];
  const part = length ? (place - before[side]) / length : 0;
  panes[other].scrollTo(Math.round(before[other] + part * (after[other] - before[other])), height);
}

function tellStep() {
  const count = starts.a.length, [none, one, title] = isDifferent()
    ? ["No word differs", "difference", "Difference"] : ["No passage is in both", "shared passage", "Passage"];
  const more = chosen === null ? [] : isDifferent() ? [": ", ...changeOf(changes[chosen])]
    : [`, ${counted(compared.passages[chosen].words, "word")}`];
  byId("step-told").replaceChildren(...!count ? [none]
    : chosen === null ? [counted(count, one)] : [`${title} ${whole(chosen + 1)} of ${whole(count)}`, ...more]);
}
