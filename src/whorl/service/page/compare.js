/** Two documents side by side, with their shared passages marked in both and counted exactly. */

import { ask } from "./api.js";
import { byId, element, fill, inSteps, warn } from "./dom.js";
import { bar, counted, percent, whole } from "./format.js";
import { NameField } from "./names.js";
import { toUnits } from "./offsets.js";
import { showProblem } from "./problem.js";
import { commonText, documentLink, pathOf } from "./store.js";
import { TextPane } from "./text-pane.js";
import { NOT_HERE, calledOf, lastMark, textOf } from "./texts.js";

const SIDES = ["a", "b"];
const LISTED = 50;
/** Characters of a passage in the list. */
const SAID = 160;
const STRIP = 400;
const SVG = "http://www.w3.org/2000/svg";
/** Layout with the two texts stacked. */
const NARROW = matchMedia("(max-width: 48rem)");
/** Marks of the user's own texts, by side; null for a document. */
const marks = { a: null, b: null };
let fields, panes, listPassages, places, words, chosen, shown = null, going = null, opened = 0;

/** Connect the view; call once. */
export function start() {
  fields = Object.fromEntries(SIDES.map((side) => [side, new NameField(byId(`side-${side}`))]));
  panes = Object.fromEntries(SIDES.map((side) => [side, new TextPane(byId(`text-${side}`), (passage, mark) => {
    // Scroll the other side to the same height.
    const top = mark.getBoundingClientRect().top - byId(`text-${side}`).getBoundingClientRect().top;
    choose(passage, side, top);
  })]));
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
  }
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

/** Show the view for an address. */
export async function show(parameters) {
  opened += 1;
  const own = opened;
  if (location.hash === shown) return;
  if (!parameters.size) {
    // Keep the names that the user has typed.
    showSides();
    return;
  }
  for (const side of SIDES) {
    const mark = parameters.get(`text-${side}`), id = parameters.get(side);
    marks[side] = mark;
    const told = id === null ? null : await documentOf(id);
    // Stop if another address was opened in the meantime.
    if (own !== opened) return;
    if (told !== null) fields[side].set(told);
    else if (mark === null) byId(`side-${side}`).value = "";
  }
  showSides();
  if (SIDES.every((side) => parameters.has(side) || parameters.has(`text-${side}`))) await run();
  else {
    byId("compared").hidden = true;
    byId("compare-blank").hidden = false;
    byId(parameters.has("a") || parameters.has("text-a") ? "side-b" : "side-a").focus();
  }
}

/** Return the document of an id; without a name if it has none. */
async function documentOf(id) {
  try {
    return { ...await ask(pathOf(id)), id };
  } catch {
    // It may be a DBID, or not exist: the comparison will tell.
    return { id, name: "" };
  }
}

function showSides() {
  const last = lastMark();
  for (const side of SIDES) {
    const input = byId(`side-${side}`), mark = marks[side], own = mark === null ? null : textOf(mark);
    byId(`own-${side}`).hidden = last === null && mark === null;
    input.disabled = mark !== null;
    input.placeholder = mark === null ? "Type a part of its name" : own ? calledOf(own) : "A text that is not here";
    if (mark !== null) input.value = "";
    byId(`own-${side}`).setAttribute("aria-pressed", String(mark !== null));
  }
}

async function address() {
  const told = new URLSearchParams();
  for (const side of SIDES) {
    if (marks[side] !== null) told.append(`text-${side}`, marks[side]);
    else told.set(side, await fields[side].id());
  }
  return `#compare?${told}`;
}

async function run() {
  going?.abort();
  going = new AbortController();
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
    const told = await ask("/compare", { ...pair, texts: "whole", ...await commonText() }, signal);
    showCompared(told);
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
  const id = await fields[side].id();
  if (id) return { id };
  byId(`side-${side}`).focus();
  throw new Error(`Document ${side.toUpperCase()} is missing: write a part of its name.`);
}

function showCompared(told) {
  const both = told.a.shingles + told.b.shingles - told.shared_shingles, rest = told.without_common;
  const [a, b] = SIDES.map((side) => (marks[side] === null ? told[side].name : "your text"));
  const shared = whole(told.shared_shingles);
  fill(
    byId("shares"),
    stat(`of ${a} is in ${b}`, told, "a_in_b", `${shared} of its ${whole(told.a.shingles)} runs of five words`, "first"),
    stat(`of ${b} is in ${a}`, told, "b_in_a", `${shared} of its ${whole(told.b.shingles)} runs of five words`, "second"),
    stat("of both together is in both", told, "jaccard", `Jaccard: ${shared} of the ${whole(both)} runs that either has`, "second"),
  );
  const common = rest ? rest.a.common_words + rest.b.common_words : 0;
  byId("common-told").hidden = !common;
  byId("common-told").textContent = common
    ? `Grey is common text, which stands in many documents: ${counted(rest.a.common_words, "word")} of A, ${counted(rest.b.common_words, "word")} of B.` : "";
  warn(byId("compare-warnings"), told.warnings);
  byId("compared").hidden = false;
  words = told.passages.map((passage) => passage.words);
  places = {};
  for (const side of SIDES) {
    const { name, text, words: length, coverage } = told[side];
    places[side] = toUnits(text, told.passages.map((passage) => passage[side]));
    fill(byId(`name-${side}`), marks[side] === null
      ? element("a", { href: documentLink(fields[side].ids.get(byId(`side-${side}`).value) ?? name) }, name)
      : calledOf(textOf(marks[side])));
    byId(`covered-${side}`).textContent = `${counted(length, "word")}, ${percent(coverage)} of them in shared passages`;
    panes[side].show(text, places[side], rest ? toUnits(text, rest[side].common) : []);
    showStrip(side);
  }
  const { text } = told.a;
  listPassages(told.passages, (passage, at) => element("li", {}, element(
    "button", { type: "button", onclick: () => choose(at), "data-passage": at },
    element("span.nr", {}, `${at + 1}.`), element("span.words", {}, counted(passage.words, "word")),
    element("span.said", {}, beginning(text, places.a[at])),
  )));
  chosen = null;
  byId("step-on").disabled = byId("step-back").disabled = !words.length;
  tellStep();
}

function stat(title, told, name, formula, kind) {
  const share = told[name], rest = told.without_common;
  const isOther = rest && percent(rest[name]) !== percent(share);
  return element(
    "div.stat", {}, element("h2", {}, element("span.big", {}, percent(share)), ` ${title}`), bar(share, share, share, kind),
    isOther ? element("p.rest", {}, `without common text ${percent(rest[name])}`) : null, element("p.quiet", {}, formula),
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
  if (!words?.length || byId("compared").hidden) return;
  choose(chosen === null ? (by > 0 ? 0 : words.length - 1) : (chosen + by + words.length) % words.length);
}

function choose(passage, clicked = null, top = undefined) {
  chosen = passage;
  for (const side of SIDES) {
    panes[side].choose(passage);
    if (side !== clicked) panes[side].scrollTo(places[side][passage].start, top);
  }
  for (const button of byId("passages").querySelectorAll("button")) {
    if (Number(button.dataset.passage) === passage) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
  // On a phone the texts may be outside the screen.
  if (clicked === null && NARROW.matches) byId("panes").scrollIntoView({ block: "start" });
  tellStep();
}

function tellStep() {
  const all = counted(words.length, "shared passage");
  if (!words.length) byId("step-told").textContent = "No passage is in both";
  else if (chosen === null) byId("step-told").textContent = all;
  else byId("step-told").textContent = `Passage ${whole(chosen + 1)} of ${whole(words.length)}, ${counted(words[chosen], "word")}`;
}
