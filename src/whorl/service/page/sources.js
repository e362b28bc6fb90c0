/** View of the sources of a text: the documents that it was taken from, with their passages marked. */

import { byId, defaultOf, element, fill, warn } from "./dom.js";
import { counted, percent, whole } from "./format.js";
import { compareWithSourceLink } from "./hits.js";
import { toUnits } from "./offsets.js";
import { quoted } from "./query.js";
import { commonText, documentLink, nameOf, offerCommon } from "./store.js";
import { TextPane } from "./text-pane.js";
import { TextView, choosePlace } from "./text-view.js";

/** Number of colours of sources; further sources repeat them. */
const COLOURS = 8;
const LISTED = 30;
const LEFT_OUT = ["quotations", "references"];
const parts = {};
let pane, view, places = [];

export function start() {
  for (const part of ["words", ...LEFT_OUT, "common", "exclude"]) parts[part] = byId(`sources-${part}`);
  view = new TextView("sources", {
    about: "The parts of it that your documents have are marked, each with its document.",
    busy: "Looking for where it comes from …",
    file: "sources.html",
    title: (name) => (name === null ? "Sources" : `Sources of ${name}`),
    read,
    write,
    options,
    draw: showSources,
    query: excluded,
  });
  pane = new TextPane(byId("sources-text"), (at) => choose(at, false));
  byId("sources-options").addEventListener("submit", (event) => {
    event.preventDefault();
    view.apply();
  });
}

export const show = (parameters) => view.show(parameters);

const excluded = () => parts.exclude.value.trim();
const without = () => LEFT_OUT.filter((part) => parts[part].checked);

function read(parameters) {
  const ignored = (parameters.get("without") ?? "").split(",");
  for (const part of LEFT_OUT) parts[part].checked = ignored.includes(part);
  parts.words.value = parameters.get("words") ?? defaultOf(parts.words);
  parts.exclude.value = parameters.get("exclude") ?? "";
  parts.common.checked = parameters.get("common") === "without";
  byId("sources-options").hidden = view.source === null;
}

function write(wanted) {
  if (parts.words.value !== defaultOf(parts.words)) wanted.set("words", parts.words.value);
  if (without().length) wanted.set("without", without().join(","));
  if (excluded()) wanted.set("exclude", excluded());
  if (parts.common.checked) wanted.set("common", "without");
}

async function options() {
  await offerCommon(parts.common);
  const exclude = excluded() ? { exclude: excluded() } : {};
  const common = await commonText(parts.common.checked);
  return { min_words: Number(parts.words.value) || Number(defaultOf(parts.words)), without: without(), ...exclude, ...common, texts: "passages" };
}

function showSources(answer, text) {
  const { sources, also } = answer, { source } = view, { called } = source;
  byId("sources-told").textContent = sources.length
    ? `${percent(answer.coverage)} of ${called} is in ${counted(sources.length, "document")}`
    : `Nothing of ${called} is in another document`;
  fill(byId("sources-how"), ...facts(answer).map((each) => element("li", {}, each)));
  warn(byId("sources-warnings"), answer.warnings);
  const passages = sources.flatMap((each, group) => each.passages.map((passage) => ({ passage, group })));
  const units = toUnits(text, passages.map(({ passage }) => passage.a));
  places = units.map((place, at) => {
    const { group } = passages[at];
    return { ...place, group, kind: `s${group % COLOURS}`, label: String(group + 1) };
  });
  pane.show(text, places);
  fill(byId("sources"), ...sources.slice(0, LISTED).map((each, group) => row(each, group, mostSeen(each, group))));
  byId("sources-left").textContent = sources.length > LISTED ? `and ${whole(sources.length - LISTED)} with less` : "";
  byId("sources-also").hidden = !also.length;
  byId("sources-also-told").textContent = `${counted(also.length, "more document")} with the same passages, and nothing else of it`;
  fill(byId("sources-also-list"), ...also.slice(0, LISTED).map((each) => element(
    "li", {}, element("a", { href: documentLink(each.id) }, nameOf(each)),
  )));
  byId("sources-similar").href = source.mark
    ? `#search?${new URLSearchParams({ q: "FINGERPRINT:source_20_95", text: source.mark })}` : documentLink(source.id);
}

function facts(answer) {
  const { covered_words: covered, text, longest_passage: longest, common, excluded_words: excluded } = answer;
  return [
    answer.sources.length ? `${whole(covered)} of ${counted(text.words, "word")}; the longest passage has ${counted(longest, "word")}.` : null,
    common?.words
      ? `At least ${counted(common.words, "word")} of it are common text, which many documents have${common.ignored ? ", and left out" : ""}`
        + `${common.ignored || !common.other_words ? "." : `; of the other ${whole(common.other_words)}, ${percent(common.other_covered_words / common.other_words)} are in documents.`}`
      : null,
    excluded ? `${counted(excluded, "word")} in quotations or references are left out.` : null,
    answer.certain_words ? `Every document with a passage of ${counted(answer.certain_words, "word")} is found.`
      : answer.promised_words
        ? `At least ${Math.floor(100 * answer.recall)} of 100 documents with a passage of ${counted(answer.promised_words, "word")} are found.` : null,
  ].filter(Boolean);
}

/**
 * Return the index of the passage that has the most text in its source's colour. If sources overlap, the text has the
 * colour of the best source.
 */
function mostSeen({ passages }, group) {
  const first = places.findIndex((place) => place.group === group);
  const seen = pane.seen();
  return passages.reduce((best, _, at) => (seen[first + at] > seen[first + best] ? at : best), 0);
}

function row(each, group, shown) {
  const label = nameOf(each), [longest] = each.passages, rest = each.without_common;
  const tell = [
    element("b", {}, percent(each.coverage)), ` of ${view.source.called} is in it`,
    group && each.new_words < each.words ? `, ${percent(each.coverage * each.new_words / each.words)} in none above` : "",
    rest && percent(rest.a_in_b) !== percent(each.a_in_b)
      ? `; without common text ${percent(rest.a_in_b)} (${percent(each.a_in_b)} with it, by runs of five words)` : "",
  ];
  return element(
    "li.source", { "data-group": group },
    element("h3", {}, element(`i.chip.s${group % COLOURS}`, { "data-label": group + 1 }), " ", element("a", { href: documentLink(each.id) }, label)),
    element("p.say", {}, ...tell.filter(Boolean)),
    longest ? element("blockquote", {}, cut(each.passages[shown].a.text)) : null,
    element("p.quiet", {}, `${counted(each.passages.length, "passage")}, the longest has ${counted(longest?.words ?? 0, "word")}`),
    element(
      "p.links", {},
      element("button.plain", { type: "button", "aria-label": `Show passages of ${label}`, onclick: () => step(group) }, "Show passages"),
      element("a", { href: compareWithSourceLink(view.source, each.id), "aria-label": `Compare with ${label}` }, "Compare"),
      element("button.plain", { type: "button", "aria-label": `Leave out ${label}`, onclick: () => leaveOut(each.id) }, "Leave out"),
    ),
  );
}

/** Search again without one of the sources. */
function leaveOut(id) {
  const before = excluded();
  parts.exclude.value = `${before ? `${before} OR ` : ""}ID:${quoted(id)}`;
  view.apply();
}

function cut(text) {
  const said = text.replace(/\s+/gu, " ");
  return said.length > 240 ? `${said.slice(0, said.lastIndexOf(" ", 240))} …` : said;
}

let stepped = -1;

/** Scroll to the next passage of a source. */
function step(group) {
  const own = places.map((place, at) => at).filter((at) => places[at].group === group).sort((a, b) => places[a].start - places[b].start);
  choose(own[(own.indexOf(stepped) + 1) % own.length], true);
}

function choose(at, isToScroll) {
  stepped = at;
  choosePlace(pane, byId("sources"), places[at], isToScroll);
}
