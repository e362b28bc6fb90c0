/** Search view: words or a query, and its hits. */

import { amend } from "./address.js";
import { ask } from "./api.js";
import { watchBuilder } from "./builder.js";
import { byId, debounce, element, fill, offerMore, renew, showValue, warn } from "./dom.js";
import { counted, whole } from "./format.js";
import { fillPassages, fillSnippets, hitRow, ownSource, sourceOf } from "./hits.js";
import { attempt, showProblem } from "./problem.js";
import { SOURCE, quoted, read, withNumbers, withReference, wordsOf } from "./query.js";
import { about, commonText, documentLink, documentsNamed, offerCommon, pathOf } from "./store.js";
import { NOT_HERE, calledOf, textOf } from "./texts.js";

const ROWS = 25, MOST = 1000;
const PAUSE = 250;
/** Field with a document's cluster, if labels were written. */
const CLUSTER = "whorl_cluster";
/** If no document has all words: maximum number of words in the query for which the documents of each word are counted. */
const COUNTED = 12;
const parts = {};
/** The last request, and the source of its hits: `mark` identifies the user's own text, called `source` in the query. */
let asked = null, hits = [], source = null, mark = null, going = null;
/** The last query as the user typed it, and its words if it has no other syntax. */
let typed = "", words = null;

const threshold = () => Number(parts.threshold.value);
const recall = () => Number(parts.recall.value);
const metrics = () => parts.form.elements.metric;
const isCalibrated = () => parts.plan.value === "calibrated";

export function start() {
  const ids = ["query", "threshold", "recall", "plan", "hits", "found", "blank", "more", "explain", "explained", "language", "collapse"];
  for (const id of ids) parts[id] = byId(id);
  parts.form = byId("ask");
  parts.common = byId("search-common");
  parts.problem = byId("query-error");
  parts.form.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  parts.query.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      run();
    }
  });
  parts.query.addEventListener("input", () => {
    grow();
    adopt();
  });
  const later = debounce(PAUSE, () => asked && run());
  for (const slider of [parts.threshold, parts.recall]) {
    slider.addEventListener("input", () => {
      setQuery(withNumbers(parts.query.value, threshold(), recall()));
      tell();
      later();
    });
  }
  for (const input of [...metrics(), parts.plan, parts.collapse, parts.common]) {
    input.addEventListener("change", () => {
      tell();
      later();
    });
  }
  parts.more.addEventListener("click", () => next());
  parts.explain.addEventListener("toggle", explain);
  byId("forget").addEventListener("click", () => {
    mark = null;
    showOwn();
    parts.query.focus();
  });
  parts.language.addEventListener("toggle", async () => {
    await offerCommon(parts.common).catch(() => {});
    const { fields } = await about().catch(() => ({ fields: [] }));
    byId("collapse-offered").hidden = !parts.collapse.checked && !fields.some(({ name }) => name === CLUSTER);
  });
  watchBuilder((clause) => {
    const rest = parts.query.value.trim();
    searchFor(rest ? `${rest} AND ${clause}` : clause);
  });
  addEventListener("whorl:changed", () => { asked = null; });
  tell();
}

export async function show(parameters) {
  const query = parameters.get("q");
  if (query === null) {
    // The user has returned to the empty page: cancel the search, but keep the typed query.
    going?.abort();
    showFound(null);
    await showExamples();
    return;
  }
  if (asked && addressOf(asked, hits.length) === location.hash) return;
  parts.plan.value = parameters.get("plan") === "stock" ? "stock" : "calibrated";
  metrics().value = "jaccard";
  // An unknown metric changes nothing.
  metrics().value = parameters.get("metric");
  mark = parameters.get("text");
  parts.collapse.checked = parameters.has("collapse");
  parts.common.checked = parameters.get("common") === "without";
  await searchFor(query, Math.min(MOST, Math.max(ROWS, Number(parameters.get("rows")) || 0)));
}

/** Show examples of queries that have hits in this store, made from one of its documents. */
async function showExamples() {
  if (parts.examples) return;
  let found;
  try {
    found = (await documentsNamed("", { rows: 1 })).documents[0];
  } catch {
    return; // The examples are optional.
  }
  if (!found) return;
  parts.examples = true;
  const [word] = found.name.match(/[\p{L}\p{N}]{3,}/u) ?? [null];
  const id = quoted(found.id);
  const examples = [...(word === null ? [`ID:${id}`] : [word, `name:*${word}*`]), `FINGERPRINT:${id}_20_95`];
  fill(byId("examples"), ...examples.map((query) => element("li", {}, element("button", {
    type: "button", onclick: () => searchFor(query),
  }, query))));
}

function setQuery(query) {
  parts.query.value = query;
  grow();
}

function searchFor(query, rows = ROWS) {
  setQuery(query);
  adopt();
  return run(rows);
}

function grow() {
  parts.query.style.height = "auto";
  parts.query.style.height = `${parts.query.scrollHeight + 2}px`;
}

/** Set the sliders to the numbers of the query. */
function adopt() {
  const fingerprint = read(parts.query.value);
  if (fingerprint?.threshold) parts.threshold.value = Math.round(fingerprint.threshold);
  if (fingerprint?.recall) parts.recall.value = Math.round(fingerprint.recall);
  tell();
}

function tell() {
  showValue(parts.threshold, byId("threshold-told"));
  showValue(parts.recall, byId("recall-told"));
  for (const input of [...metrics(), parts.common]) input.disabled = !isCalibrated();
  byId("metric-told").textContent = isCalibrated()
    ? `At least ${threshold()} % ${[...metrics()].find((each) => each.checked).dataset.told}.`
    : `Bands of tokens that find a share of ${threshold()} % in ${recall()} of 100.`;
}

function showOwn() {
  const own = mark === null ? null : textOf(mark);
  byId("search-own").hidden = mark === null;
  byId("search-own-told").textContent = own
    ? `${calledOf(own)}, ${counted(own.text.length, "character")}: the query calls it source.` : NOT_HERE;
}

async function question(query) {
  const own = mark === null ? null : textOf(mark);
  const isOwn = own !== null && /FINGERPRINT:\s*source/u.test(query);
  const common = isCalibrated() && parts.common.checked && read(query) !== null ? await commonText(true) : {};
  const by = isCalibrated() ? { metric: metrics().value } : {};
  const wanted = { query, plan: parts.plan.value, ...by, collapse: parts.collapse.checked, ...common };
  return isOwn ? { ...wanted, source: own.text } : wanted;
}

function addressOf({ plan, metric: by, collapse, ignore_common: isCommonIgnored }, shown, query = typed) {
  const parameters = new URLSearchParams({ q: query });
  if (plan !== "calibrated") parameters.set("plan", plan);
  else if (by !== "jaccard") parameters.set("metric", by);
  if (mark !== null) parameters.set("text", mark);
  if (collapse) parameters.set("collapse", "1");
  if (isCommonIgnored) parameters.set("common", "without");
  if (shown > ROWS) parameters.set("rows", shown);
  return `#search?${parameters}`;
}

function goTo(wanted) {
  if (location.hash === wanted) return;
  // The first search replaces the empty page in the history.
  if (location.hash.startsWith("#search?")) history.pushState(null, "", wanted);
  else amend("search", wanted);
}

async function run(rows = ROWS) {
  going = renew(going);
  const { signal } = going, query = parts.query.value;
  parts.form.setAttribute("aria-busy", "true");
  if (read(query) !== null) parts.language.open = true;
  showOwn();
  let wanted = null;
  try {
    const clauses = wordsOf(query);
    wanted = await question(clauses === null ? query : clauses.join(" AND "));
    // The typed text may be an id, which need not be a valid query.
    let [page, named] = await Promise.all([
      ask("/search", { ...wanted, rows }, signal).catch((error) => error), documentOf(query, signal),
    ]);
    if (page.total === 0 && clauses?.length > 1 && !named) {
      wanted = { ...wanted, query: (await rareWords(clauses, signal)).join(" OR ") };
      page = await ask("/search", { ...wanted, rows }, signal);
    }
    if (signal.aborted) return;
    if (page instanceof Error && !named) throw page;
    const shown = page instanceof Error ? { total: 0, total_is_exact: true, hits: [], sources: [], warnings: [] } : page;
    const [of, links] = await Promise.all([sourceOfHits(shown, wanted), suggestions(shown, wanted, query, signal)]);
    if (signal.aborted) return;
    [asked, source, typed, words] = [wanted, of, query, clauses];
    showProblem(parts.problem, null);
    parts.query.removeAttribute("aria-invalid");
    goTo(addressOf(asked, Math.min(shown.hits.length, rows)));
    showFound(shown, named, links);
  } catch (error) {
    if (signal.aborted) return;
    showFound(null);
    parts.blank.hidden = true;
    // The address has the query, so that a reload shows the same message.
    if (wanted) goTo(addressOf(wanted, rows, query));
    showProblem(parts.problem, error, query);
    if (error.span) parts.query.setAttribute("aria-invalid", "true");
  } finally {
    if (going?.signal === signal) parts.form.removeAttribute("aria-busy");
  }
}

/**
 * Return the words that some documents have, but at most half of them: words like "the" would find nearly everything.
 * Return all words if this leaves none, or if the query has more than `COUNTED` words.
 */
async function rareWords(clauses, signal) {
  if (clauses.length > COUNTED) return clauses;
  const { documents } = await about();
  const totals = await Promise.all(clauses.map((query) => ask("/search", { query, rows: 0 }, signal)));
  const rare = clauses.filter((_, at) => totals[at].total && totals[at].total <= documents / 2);
  return rare.length ? rare : clauses;
}

/** Return the document whose id is the typed text, or null. */
async function documentOf(query, signal) {
  const id = query.trim();
  if (!id || id.length > 1000 || /[\n*?]|^FINGERPRINT:/u.test(id)) return null;
  try {
    return await ask(pathOf(id), undefined, signal);
  } catch {
    return null;
  }
}

function next() {
  const { signal } = going;
  return attempt(parts.more, parts.problem, async () => {
    const page = await ask("/search", { ...asked, start: hits.length, rows: ROWS }, signal);
    const first = parts.hits.children.length;
    append(page);
    // Record the number of hits, so that Back shows all of them.
    amend("search", addressOf(asked, hits.length));
    parts.hits.children[first]?.querySelector("a")?.focus();
  }, { signal, query: asked.query });
}

function showFound(page, named = null, links = new Map()) {
  hits = [];
  parts.found.hidden = page === null;
  parts.blank.hidden = page !== null;
  if (page === null) {
    asked = null;
    return;
  }
  // Move the focus before the focused element is removed.
  const hadKeyboard = parts.hits.contains(document.activeElement);
  parts.hits.replaceChildren();
  const isNamed = named && !page.hits.some((hit) => hit.id === named.id);
  const total = page.total + (isNamed ? 1 : 0);
  byId("found-told").textContent = total
    ? `${page.total_is_exact ? "" : page.outdated ? "About " : "At least "}${counted(total, "document")}` : "No document";
  byId("found-how").textContent = how(page, total);
  warn(byId("found-warnings"), page.warnings, links);
  if (isNamed) {
    const row = hitRow({ ...named, measured: null }, null, "has this id");
    parts.hits.append(row);
  }
  append(page);
  parts.explain.open = false;
  if (hadKeyboard) byId("found-told").focus();
}

/** Return the source of the hits; null if the query has none or several. */
async function sourceOfHits({ sources, hits: found }, wanted) {
  if (sources.length !== 1) return null;
  const [name] = sources, isCommonIgnored = Boolean(wanted.ignore_common);
  if (wanted.source !== undefined && name === SOURCE) return { ...ownSource(mark, textOf(mark)), isCommonIgnored };
  // If no document has this id, it may be a DBID or a node reference, so use it as it stands in the query.
  const itself = found.find((hit) => hit.id === name) ?? await ask(pathOf(name)).catch(() => ({ id: name, name: "" }));
  return { ...sourceOf(itself), isCommonIgnored };
}

/** Return a link for each warning about an unknown document; it searches with the document that was probably meant. */
async function suggestions({ sources, warnings }, wanted, query, signal) {
  if (!warnings.length) return new Map();
  const links = await Promise.all(sources.filter((name) => name !== SOURCE).map(async (name) => {
    const { message, suggested } = await ask(pathOf(name), undefined, signal).catch((error) => error);
    const warning = suggested && warnings.find((each) => each.startsWith(message));
    if (!warning) return null;
    const corrected = withReference(query, name, suggested);
    if (corrected === query) return [warning, element("a", { href: documentLink(suggested) }, `Open ${suggested}`)];
    return [warning, element("a", { href: addressOf(wanted, 0, corrected) }, `Search with ${suggested}`)];
  }));
  return new Map(links.filter((link) => link !== null));
}

function how({ hits: found, sources, warnings }, total) {
  // If there is a warning, such as an unknown document, it gives the reason.
  if (total && words !== null && asked.query !== words.join(" AND ")) return "No document has all of these words; these have some of them.";
  if (total || warnings.length) return "";
  return sources.length && found.length === 0 ? "A lower threshold finds more." : "Other words find more.";
}

function append(page) {
  hits.push(...page.hits);
  const rows = page.hits.map((hit) => hitRow(hit, source, points(hit)));
  parts.hits.append(...rows);
  offerMore(parts.more, page.hits.length ? page.total - hits.length : 0);
  if (source && page.hits.some((hit) => hit.measured)) fillPassages(rows, source, going?.signal);
  else fillSnippets(rows, asked.query, going?.signal);
}

/** Describe a hit without shares by the number of the query's words in it. */
function points(hit) {
  if (asked.plan === "stock" && source) return `${whole(hit.score)} points`;
  const isCounted = words?.length > 1 && !words.some((word) => word.startsWith('"')) && Number.isInteger(hit.score);
  return isCounted && hit.score < words.length ? `${whole(hit.score)} of ${whole(words.length)} words` : "";
}

async function explain() {
  const of = asked;
  if (!parts.explain.open || !of) return;
  fill(parts.explained, element("p.quiet", { role: "status" }, "Working it out …"));
  try {
    const explanation = await ask("/explain", { ...of, collapse: undefined, rows: ROWS });
    if (asked !== of) return;
    const titled = (title, lines) => [element("h3", {}, title), element("pre", { tabindex: "0" }, lines)];
    fill(
      parts.explained,
      ...explanation.fingerprints.flatMap(({ source: name, plan }) => titled(`What is found for ${name}`, plan.join("\n"))),
      ...titled("The query", explanation.plan.join("\n")),
      ...titled("The request", JSON.stringify(explanation.request, null, 2)),
    );
  } catch (error) {
    if (asked === of) showProblem(parts.explained, error, of.query);
  }
}
