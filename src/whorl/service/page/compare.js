/** Two documents side by side: what both have, counted exactly, and marked in both. */

import { ask } from "./api.js";
import { byId, element, fill, inSteps, warn } from "./dom.js";
import { bar, counted, percent, whole } from "./format.js";
import { toUnits } from "./offsets.js";
import { showProblem } from "./problem.js";
import { own } from "./source.js";
import { TextPane } from "./text-pane.js";

const SIDES = ["a", "b"];
const LISTED = 50;
/** Characters that the list shows of a passage. */
const SAID = 160;
const STRIP = 400;
const SVG = "http://www.w3.org/2000/svg";
const ownSides = { a: false, b: false };
let panes, listPassages, places, words, chosen, shown = null, shownText = null, going = null;

/** Make the view work; once. */
export function start() {
  panes = Object.fromEntries(SIDES.map((side) => [side, new TextPane(byId(`text-${side}`), (passage, mark) => {
    // The other side comes to stand beside what was clicked.
    const top = mark.getBoundingClientRect().top - byId(`text-${side}`).getBoundingClientRect().top;
    choose(passage, side, top);
  })]));
  listPassages = inSteps(byId("passages"), byId("passages-more"), LISTED);
  byId("pair").addEventListener("submit", (event) => {
    event.preventDefault();
    const wanted = address();
    if (location.hash === wanted) run();
    else location.hash = wanted;
  });
  for (const side of SIDES) {
    byId(`own-${side}`).addEventListener("click", () => {
      ownSides[side] = !ownSides[side];
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
}

/** Show the view with what the address says. */
export function show(parameters) {
  for (const side of SIDES) {
    byId(`own-${side}`).hidden = own.text === null;
    if (parameters.size) ownSides[side] = parameters.get("own") === side && own.text !== null;
    if (parameters.has(side)) byId(`side-${side}`).value = parameters.get(side);
  }
  showSides();
  const isOther = (ownSides.a || ownSides.b) && own.text !== shownText;
  if (parameters.size && (location.hash !== shown || isOther)) run();
}

function showSides() {
  for (const side of SIDES) {
    const input = byId(`side-${side}`), isOwn = ownSides[side] && own.text !== null;
    ownSides[side] = isOwn;
    input.disabled = isOwn;
    input.placeholder = isOwn ? `Your text${own.name ? ` (${own.name})` : ""}` : "id of a document";
    if (isOwn) input.value = "";
    byId(`own-${side}`).setAttribute("aria-pressed", String(isOwn));
  }
}

function address() {
  const told = new URLSearchParams();
  for (const side of SIDES) {
    if (ownSides[side]) told.append("own", side);
    else told.set(side, byId(`side-${side}`).value);
  }
  return `#compare?${told}`;
}

async function run() {
  going?.abort();
  going = new AbortController();
  const { signal } = going;
  [shown, shownText] = [location.hash, own.text];
  byId("compare-blank").hidden = true;
  byId("compared").hidden = true;
  showProblem(byId("compare-error"), null);
  const missing = SIDES.find((side) => !ownSides[side] && !byId(`side-${side}`).value);
  if (missing) {
    byId("compare-busy").textContent = "";
    showProblem(byId("compare-error"), new Error(`Document ${missing.toUpperCase()} is missing: write its id.`));
    byId(`side-${missing}`).focus();
    return;
  }
  byId("compare-busy").textContent = "Comparing …";
  const side = (each) => (ownSides[each] ? { text: own.text } : { id: byId(`side-${each}`).value });
  try {
    const told = await ask("/api/compare", { a: side("a"), b: side("b"), texts: "whole" }, signal);
    byId("compare-busy").textContent = "";
    showCompared(told);
  } catch (error) {
    if (error.name === "AbortError") return;
    byId("compare-busy").textContent = "";
    shown = null;
    showProblem(byId("compare-error"), error);
  }
}

function showCompared(told) {
  const both = told.a.shingles + told.b.shingles - told.shared_shingles;
  fill(
    byId("shares"),
    stat("Jaccard", told.jaccard, `${whole(told.shared_shingles)} of the ${whole(both)} shingles of both`, "first"),
    stat("A in B", told.a_in_b, `${whole(told.shared_shingles)} of the ${whole(told.a.shingles)} of A`, "second"),
    stat("B in A", told.b_in_a, `${whole(told.shared_shingles)} of the ${whole(told.b.shingles)} of B`, "second"),
  );
  warn(byId("compare-warnings"), told.warnings);
  byId("compared").hidden = false;
  words = told.passages.map((passage) => passage.words);
  places = {};
  for (const side of SIDES) {
    const { name, text, words: length, coverage } = told[side];
    places[side] = toUnits(text, told.passages.map((passage) => passage[side]));
    byId(`name-${side}`).textContent = name || (own.name ? `Your text (${own.name})` : "Your text");
    byId(`covered-${side}`).textContent = `${counted(length, "word")}, ${percent(coverage)} of them in shared passages`;
    panes[side].show(text, places[side]);
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

function stat(title, share, told, kind) {
  return element("div.stat", {}, element("h2", {}, title), element("p.big", {}, percent(share)), bar(share, share, share, kind), element("p.quiet", {}, told));
}

function beginning(text, { start, end }) {
  const said = text.slice(start, Math.min(end, start + SAID)).replace(/\s+/gu, " ");
  return end - start > SAID ? `${said} …` : said;
}

/** Draw where in the text the passages are. */
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
  tellStep();
}

function tellStep() {
  const all = counted(words.length, "shared passage");
  if (!words.length) byId("step-told").textContent = "No passage is in both";
  else if (chosen === null) byId("step-told").textContent = all;
  else byId("step-told").textContent = `Passage ${whole(chosen + 1)} of ${whole(words.length)}, ${counted(words[chosen], "word")}`;
}
