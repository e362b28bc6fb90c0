/** View of one document: similar documents, its text and its properties. */

import { amend } from "./address.js";
import { ask } from "./api.js";
import { byId, debounce, element, fill, offerMore, renew, showValue, warn } from "./dom.js";
import { forget } from "./cleaning.js";
import { counted } from "./format.js";
import { fillPassages, hitRow, sharesToShow, sourceOf } from "./hits.js";
import { showProblem } from "./problem.js";
import { percentLiteral } from "./query.js";
import { about, commonText, compareLink, nameOf, offerCommon, pathOf, sourcesLink } from "./store.js";
import { TextPane } from "./text-pane.js";

/** Number of hits to request, and to show at a time. */
const MOST = 200, ROWS = 25;
const LEAST = 10, PAUSE = 250;
/** One search runs for each of these metrics; the list shows the hits of all searches. */
const METRICS = ["a_in_b", "b_in_a"];
let pane, shown = null, current = null, going = null;

export function start() {
  const least = byId("least");
  pane = new TextPane(byId("document-text"), () => {});
  const later = debounce(PAUSE, () => {
    if (!current) return;
    const wanted = address(current.id, Number(least.value), byId("document-common").checked);
    if (!amend("document", wanted)) return;
    shown = wanted;
    findSimilar();
  });
  least.addEventListener("input", () => {
    showValue(least, byId("least-told"));
    if (current) later();
  });
  byId("document-common").addEventListener("change", () => current && later());
  byId("document-delete").addEventListener("click", async () => {
    if (await forget(current)) location.hash = "#documents";
  });
  addEventListener("whorl:changed", () => { shown = null; });
}

export async function show(parameters) {
  const id = parameters.get("id") ?? "", given = Number(parameters.get("least"));
  const least = given >= 1 && given <= 100 ? given : LEAST, isCommonIgnored = parameters.get("common") === "without";
  const wanted = address(id, least, isCommonIgnored);
  if (wanted === shown) return;
  shown = wanted;
  // Cancel the requests for the previous document.
  going?.abort();
  current = null;
  byId("least").value = least;
  byId("document-common").checked = isCommonIgnored;
  showValue(byId("least"), byId("least-told"));
  showProblem(byId("document-problem"), null);
  byId("document-title").textContent = id;
  byId("document-found").hidden = byId("document-all").hidden = byId("document-actions").hidden = true;
  byId("document-id").textContent = "";
  try {
    const [loaded, { is_read_only: isReadOnly }] = await Promise.all([withText(id), about()]);
    if (shown !== wanted) return;
    current = loaded;
    showDocument(isReadOnly);
  } catch (error) {
    if (shown !== wanted) return;
    shown = null;
    showProblem(byId("document-problem"), error);
    return;
  }
  await findSimilar();
}

/** Return a document with its text; "" if the store keeps no texts. */
async function withText(id) {
  try {
    return await ask(`${pathOf(id)}?text=true`);
  } catch (error) {
    if (error.status !== 409) throw error;
    return { ...await ask(pathOf(id)), text: "" };
  }
}

function address(id, least, isCommonIgnored) {
  const parameters = new URLSearchParams({ id });
  if (least !== LEAST) parameters.set("least", least);
  if (isCommonIgnored) parameters.set("common", "without");
  return `#document?${parameters}`;
}

function showDocument(isReadOnly) {
  const { id, text, properties } = current, name = nameOf(current);
  document.title = `${name} – whorl`;
  byId("document-title").textContent = name;
  byId("document-id").textContent = name === id ? "" : id;
  byId("document-sources").href = sourcesLink(id);
  byId("document-compare").href = compareLink(id);
  byId("document-delete").hidden = isReadOnly;
  byId("document-all").hidden = byId("document-actions").hidden = false;
  byId("document-told").textContent = text ? counted(text.length, "character") : "The store keeps no text for it.";
  byId("document-text").hidden = !text;
  pane.show(text, []);
  const entries = Object.entries(properties);
  byId("document-properties-title").hidden = !entries.length;
  fill(byId("document-properties"), ...entries.map(([key, values]) => element(
    "div", {}, element("dt", {}, key), element("dd", {}, values.map(String).join(", ")),
  )));
}

async function findSimilar() {
  going = renew(going);
  const { signal } = going, { id } = current, least = Number(byId("least").value);
  const status = byId("document-similar"), list = byId("document-hits");
  byId("document-found").hidden = false;
  status.textContent = "Looking for documents that share content with it …";
  fill(list);
  byId("document-more").hidden = true;
  warn(byId("document-warnings"), []);
  try {
    await offerCommon(byId("document-common"));
    const isCommonIgnored = byId("document-common").checked, common = isCommonIgnored ? await commonText(true) : {};
    const pages = await Promise.all(METRICS.map((metric) => ask(
      "/similar", { id, metric, threshold: Number(percentLiteral(least)), rows: MOST, ...common }, signal,
    )));
    if (signal.aborted) return;
    showSimilar(pages, least, isCommonIgnored, signal);
  } catch (error) {
    if (signal.aborted) return;
    status.textContent = "";
    showProblem(byId("document-problem"), error);
  }
}

function showSimilar(pages, least, isCommonIgnored, signal) {
  const byBoth = new Map(pages.flatMap((page) => page.hits).map((hit) => [hit.id, hit]));
  const best = (hit) => Math.max(...METRICS.map((metric) => sharesToShow(hit, isCommonIgnored)[metric]));
  const hits = [...byBoth.values()].sort((a, b) => best(b) - best(a) || (a.id < b.id ? -1 : 1));
  const isAll = pages.every((page) => page.total_is_exact && page.total <= page.hits.length);
  const name = nameOf(current);
  byId("document-similar").textContent = hits.length
    ? `${isAll ? "" : "At least "}${counted(hits.length, "document")} ${hits.length === 1 ? "shares" : "share"} content with it`
    : `No document shares ${least}% with it${isCommonIgnored ? ", without common text" : ""}`;
  warn(byId("document-warnings"), [...new Set(pages.flatMap((page) => page.warnings))]);
  const list = byId("document-hits"), more = byId("document-more"), source = { ...sourceOf({ ...current, name }), isCommonIgnored };
  function next(isAsked) {
    const before = list.children.length;
    const rows = hits.slice(before, before + ROWS).map((hit) => hitRow({ ...hit, measured: hit }, source));
    list.append(...rows);
    offerMore(more, hits.length - list.children.length);
    if (isAsked) rows[0]?.querySelector("a").focus();
    fillPassages(rows, source, signal);
  }
  more.onclick = () => next(true);
  next(false);
}
