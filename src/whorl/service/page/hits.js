/** List of hits. Shows estimated shares at once, and exact shares and longest passages after reading the texts. */

import { ask } from "./api.js";
import { element, fill } from "./dom.js";
import { bar, counted, percent, whole } from "./format.js";
import { toUnits } from "./offsets.js";
import { compareLink, commonText, documentLink, nameOf } from "./store.js";

/** Maximum number of documents in one request for details. */
const AT_ONCE = 8;

/**
 * The source of a search.
 * @typedef {Object} Source
 * @property {string} called Name in sentences such as "of … is in this document", or "your text".
 * @property {string} [id] Id of a document.
 * @property {string} [mark] Mark of the user's own text, see texts.js.
 * @property {string} [text] The user's own text.
 * @property {boolean} [isCommonIgnored] Whether common text is ignored.
 */

/** Return a document as a source. */
export const sourceOf = (document_) => ({ called: nameOf(document_), id: document_.id });

/** Return the user's own text as a source. */
export const ownSource = (mark, { text, markup }) => ({ called: "your text", mark, text, markup });

/** Return the address that compares a source with a document. */
export function compareWithSourceLink(source, id) {
  return source.mark ? `#compare?${new URLSearchParams({ "text-a": source.mark, b: id })}` : compareLink(source.id, id);
}

/**
 * Draw a row of a list of hits.
 * @param {{id: string, name: string, measured: ?Object}} hit The hit with its known shares.
 * @param {?Source} source
 * @param {string} [points] Text to show if no shares are known.
 */
export function hitRow(hit, source, points = "") {
  const isSource = source !== null && hit.id === source.id, label = nameOf(hit);
  const name = element(
    "h3", {}, element("a", { href: documentLink(hit.id) }, label), isSource ? element("span.tag", {}, "source") : null,
    hit.copies ? element("span.tag", {}, `and ${counted(hit.copies, "near-copy", "near-copies")}`) : null,
  );
  const title = element(
    "div", {}, name, label !== hit.id ? element("p.mono", {}, hit.id) : null, element("div.said"),
  );
  const links = element("p.links");
  if (source && !isSource) {
    links.append(element("a", { href: compareWithSourceLink(source, hit.id), "aria-label": `Compare with ${label}` }, "Compare"));
  }
  const shares = element("div.shares");
  if (isSource) shares.append(element("p.quiet", {}, "The document itself"));
  else if (hit.measured) showShares(shares, hit.measured, source);
  else shares.append(element("p.points", {}, points));
  return element("li.hit", { "data-id": hit.id }, title, shares, links);
}

/** Return the shares of a hit: if common text is ignored, the shares without it, unless they are unknown. */
export const sharesToShow = (overlap, isCommonIgnored) => (isCommonIgnored && overlap.without_common) || overlap;

/** Describe two shares in sentences with bars. If the user has opened the details of the calculation, they stay open. */
function showShares(place, overlap, source) {
  const isOpen = place.querySelector("details")?.open ?? false, hadKeyboard = place.contains(document.activeElement);
  const details = formula(overlap, source);
  details.open = isOpen;
  fill(
    place,
    sentence(overlap, "a_in_b", `of ${source.called} is in this document`, "first", source.isCommonIgnored),
    sentence(overlap, "b_in_a", `of this document is in ${source.called}`, "second", source.isCommonIgnored),
    details,
  );
  if (hadKeyboard) details.querySelector("summary").focus({ preventScroll: true });
}

function sentence(overlap, name, words, kind, isCommonIgnored) {
  const rest = overlap.without_common, counts = sharesToShow(overlap, isCommonIgnored), share = counts[name];
  const [low, high] = counts.intervals?.[name] ?? [share, share];
  // If common text changes the share, show both: with and without common text.
  const isOther = rest && percent(rest[name]) !== percent(overlap[name]);
  const other = counts === rest ? `, with common text ${percent(overlap[name])}` : rest && `, without common text ${percent(rest[name])}`;
  return element(
    "p.say", {}, bar(share, low, high, kind), overlap.exact ? "" : "about ", element("b", {}, percent(share)),
    ` ${words}`, isOther ? element("span.rest", {}, other) : null,
  );
}

function formula(overlap, source) {
  const shared = overlap.shared_shingles;
  const lines = overlap.exact && shared !== undefined
    ? [
      "Both texts are cut into all their runs of five words, and the different ones are counted: "
        + `${whole(overlap.source_shingles)} of ${source.called}, ${whole(overlap.shingles)} of this document, ${whole(shared)} in both.`,
      `${whole(shared)} / ${whole(overlap.source_shingles)} = ${percent(overlap.a_in_b)}, and ${whole(shared)} / ${whole(overlap.shingles)} = ${percent(overlap.b_in_a)}.`,
      `Of the ${whole(overlap.source_shingles + overlap.shingles - shared)} that either has, ${percent(overlap.jaccard)} are in both (Jaccard).`,
    ]
    : [
      `Of the runs of five words that either has, ${percent(overlap.jaccard)} are in both (Jaccard).`,
      overlap.exact ? "All of them were counted." : "These are estimates from samples: the dark part of a bar is the 95% interval.",
    ];
  return element(
    "details.formula", {}, element("summary", { "aria-label": "How this is counted", title: "How this is counted" }, "i"),
    ...lines.map((line) => element("p", {}, line)),
  );
}

/**
 * Request details about hits, a few at a time, and show them in the rows of the hits.
 * @param {HTMLElement[]} rows
 * @param {string} path Route that takes `documents`.
 * @param {function(): Promise<Object>} question Returns the other fields of the request.
 * @param {function(HTMLElement, Object)} show Shows the details of a document in its row.
 * @param {AbortSignal} [signal]
 */
async function fillRows(rows, path, question, show, signal) {
  try {
    const fields = await question();
    for (let at = 0; at < rows.length; at += AT_ONCE) {
      const some = new Map(rows.slice(at, at + AT_ONCE).map((row) => [row.dataset.id, row]));
      const { documents } = await ask(path, { ...fields, documents: [...some.keys()] }, signal);
      for (const details of documents) show(some.get(details.id), details);
    }
  } catch {
    // Keep the rows without details: the store has no texts, they are too long, or the request was cancelled.
  }
}

/** Read the texts of hits, and put exact shares and longest passages into their rows. */
export function fillPassages(rows, source, signal) {
  const wanted = rows.filter((row) => row.dataset.id !== source.id);
  const question = async () => ({ ...(source.mark ? { text: source.text } : { id: source.id }), ...await commonText() });
  return fillRows(wanted, "/passages", question, (row, overlap) => fillRow(row, overlap, source), signal);
}

/** Read the texts of hits, and show where the words of a query occur in them. */
export function fillSnippets(rows, query, signal) {
  return fillRows(rows, "/snippets", async () => ({ query }), showSnippet, signal);
}

function showSnippet(row, { text, places, cut_before: isBefore, cut_behind: isBehind }) {
  const units = toUnits(text, places);
  const marked = units.flatMap(({ start, end }, word) => [
    text.slice(units[word - 1]?.end ?? 0, start), element("mark", {}, text.slice(start, end)),
  ]);
  fill(row.querySelector(".said"), element(
    "blockquote", {}, isBefore ? "… " : "", ...marked, text.slice(units.at(-1).end), isBehind ? " …" : "",
  ));
}

function fillRow(row, overlap, source) {
  showShares(row.querySelector(".shares"), overlap, source);
  const { longest, passages } = overlap;
  if (!longest) return;
  const of = passages === 1 ? "the only passage that both have" : `the longest of ${counted(passages, "passage")}`;
  fill(
    row.querySelector(".said"), element("blockquote", {}, longest.text),
    element("p.quiet", {}, `${counted(longest.words, "word")} in a row, ${of}`),
  );
}
