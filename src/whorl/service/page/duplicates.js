/** View of the clusters of near-duplicates in the store, the largest first, with a list of documents to delete. */

import { amend, approve, isApproved, read } from "./address.js";
import { Failure, ask, request } from "./api.js";
import { Cleaning } from "./cleaning.js";
import { byId, debounce, defaultOf, element, fill, inSteps, offerMore, renew, showValue, warn } from "./dom.js";
import { counted, percent, sizeOf, whole } from "./format.js";
import { sharesToShow } from "./hits.js";
import { attempt, showProblem } from "./problem.js";
import { percentLiteral } from "./query.js";
import { saveAnswer } from "./files.js";
import { COMMON_ABOVE, about, compareLink, documentLink, nameOf } from "./store.js";

const CLUSTERS = 10;
/** Maximum size of a cluster whose pairs are drawn as a matrix, and of a cluster whose matrix has numbers. */
const DRAWN = 30, NUMBERED = 8;
const MEMBERS = 12;
/** Members with the same words as the first document are folded if a cluster has at least this number of them. */
const FOLDED = 3;
/** Maximum number of shown passages that a version adds or loses. */
const PASSAGES = 3;
const ASK_AGAIN = 300, PAUSE = 200;
const FIELDS = ["metric", "threshold", "recall", "keep", "order", "named"];
const FLAGS = ["complete", "common", "versions"];
const PROGRESS = {
  waiting: () => "Waiting for other jobs.",
  reading: (count) => `${counted(count, "document")} read`,
  comparing: (count) => `${counted(count, "pair")} found so far`,
  "reading whole": (count) => `${counted(count, "pair")} compared word by word`,
  clustering: (count) => counted(count, "cluster"),
};
/** Key of the last job of this tab. */
const LAST = "whorl.duplicates";
const parts = {};
/**
 * `job` is the API path of the job whose clusters are shown or awaited, `going` the controller that cancels waiting,
 * `total` the number of its clusters, `shown` the address of the view, and `asked` the options of the job.
 */
let job = null, going = null, total = 0, shown = null, asked = null;
/** Resolves once the form has the values of the address. */
let filled = Promise.resolve();
/** Cancels the requests of a list of clusters when another list replaces it. */
let listing = new AbortController();
let cleaning;

export function start() {
  for (const part of [...FIELDS, ...FLAGS]) parts[part] = byId(`cluster-${part}`);
  for (const part of ["threshold", "recall"]) {
    const tell = () => showValue(parts[part], byId(`cluster-${part}-told`));
    parts[part].addEventListener("input", tell);
    tell();
  }
  cleaning = new Cleaning(() => job, isDuplicate);
  byId("clustering").addEventListener("submit", async (event) => {
    event.preventDefault();
    // Wait, because a quick click may come before the form is filled.
    await filled;
    if (!amend("duplicates", address())) return;
    approve();
    run();
  });
  byId("clusters-cancel").addEventListener("click", () => {
    clear();
    byId("clustering").querySelector("[type=submit]").focus();
  });
  addEventListener("pagehide", cancel);
  byId("clusters-more").addEventListener("click", next);
  const again = async () => {
    if (asked === null || going || !amend("duplicates", address())) return;
    shown = location.hash;
    listing = renew(listing);
    const { signal } = listing;
    try {
      const { result } = await ask(pageOf(0), undefined, signal);
      total = result.total;
      tellTotal(result);
      fill(byId("clusters"));
      append(result.clusters);
    } catch (error) {
      if (!signal.aborted) showProblem(byId("clusters-error"), error);
    }
  };
  parts.order.addEventListener("change", again);
  parts.named.addEventListener("input", debounce(PAUSE, again));
  for (const format of ["json", "csv"]) {
    byId(`download-${format}`).addEventListener("click", (event) => download(format, event.currentTarget));
  }
  addEventListener("whorl:changed", () => { shown = null; });
}

/**
 * Fill the form from the address. Start the job only if the user of this tab has started it, now or before a reload: a
 * job compares all documents with each other, so a link from another page must not start one.
 */
export async function show(parameters) {
  const wanted = location.hash, isFilling = fillIn(parameters, wanted);
  filled = isFilling;
  if (!await isFilling) {
    if (!parameters.size && shown === null) await restore();
    return;
  }
  if (isApproved()) await run();
  else clear();
}

/** Fill the form from the parameters of an address. Return false if the user has left this address. */
async function fillIn(parameters, wanted) {
  await offerDates();
  // Stop if there is nothing to fill in, if another address was opened, or if this address is already shown.
  if (!parameters.size || location.hash !== wanted || wanted === shown) return false;
  for (const part of FIELDS) {
    const value = defaultOf(parts[part]);
    parts[part].value = parameters.get(part) ?? value;
    if (!parts[part].value && value) parts[part].value = value;
  }
  for (const flag of FLAGS) parts[flag].checked = parameters.has(flag);
  for (const part of ["threshold", "recall"]) showValue(parts[part], byId(`cluster-${part}-told`));
  const isOpen = [...FLAGS, "metric", "recall", "keep"].some((part) => parameters.has(part));
  byId("cluster-options").open ||= isOpen;
  return true;
}

/** Show the last result of this tab again, if the service still has it. */
async function restore() {
  const saved = JSON.parse(sessionStorage.getItem(LAST) ?? "null");
  if (saved === null || going) return;
  try {
    job = saved.job;
    const { result } = await ask(pageOf(0));
    if (going || job !== saved.job || !result || !amend("duplicates", saved.address)) return;
    asked = saved.asked;
    await fillIn(read().parameters, saved.address);
    shown = saved.address;
    approve();
    byId("clusters-blank").hidden = true;
    showClusters(result);
  } catch {
    sessionStorage.removeItem(LAST);
  }
}

/** Offer the date fields, to retain the newest document of a group. */
async function offerDates() {
  if (parts.isOffered) return;
  const store = await about().catch(() => null);
  if (!store || parts.isOffered) return;
  parts.isOffered = true;
  const dates = store.fields.filter(({ types }) => types.includes("dates")).map(({ name }) => name);
  parts.keep.append(...dates.map((name) => element("option", { value: `newest:${name}` }, `the newest document (${name})`)));
}

function address() {
  const parameters = new URLSearchParams({ threshold: parts.threshold.value });
  for (const part of FIELDS) {
    if (part !== "threshold" && parts[part].value !== defaultOf(parts[part])) parameters.set(part, parts[part].value);
  }
  for (const flag of FLAGS) if (parts[flag].checked) parameters.set(flag, "1");
  return `#duplicates?${parameters}`;
}

/** Return the address of a page of clusters in the chosen order. */
function pageOf(start) {
  const parameters = new URLSearchParams({ start, rows: CLUSTERS, order: parts.order.value, named: parts.named.value });
  return `${job}?${parameters}`;
}

function question() {
  return {
    threshold: Number(percentLiteral(parts.threshold.value)),
    metric: parts.metric.value,
    recall: Number(percentLiteral(parts.recall.value)),
    complete: parts.complete.checked,
    versions: parts.versions.checked,
    ...(parts.keep.value ? { keep: parts.keep.value } : {}),
    // A search for duplicates finds common text in the documents that it compares, so the store need not keep passages.
    ...(parts.common.checked ? { common_above: COMMON_ABOVE, ignore_common: true } : {}),
  };
}

async function run() {
  clear();
  going = new AbortController();
  const { signal } = going;
  shown = location.hash;
  byId("clusters-blank").hidden = true;
  showBusy(true);
  try {
    const wanted = question(), { id } = await ask("/duplicates", wanted);
    const place = `/duplicates/${encodeURIComponent(id)}`;
    if (signal.aborted) return void end(place);
    job = place;
    const found = await finished(signal);
    [going, asked] = [null, wanted];
    sessionStorage.setItem(LAST, JSON.stringify({ address: shown, job, asked }));
    showBusy(false);
    showClusters(found);
  } catch (error) {
    if (signal.aborted) return;
    [going, shown] = [null, null];
    showBusy(false);
    showProblem(byId("clusters-error"), error);
  }
}

/** Wait until the job has ended, and return the first page of its result. */
async function finished(signal) {
  for (;;) {
    const { state, progress, result, error } = await ask(pageOf(0), undefined, signal);
    if (error) throw new Failure(error.message, { status: error.statusCode });
    if (result) return result;
    const describe = PROGRESS[state === "waiting" ? state : progress.doing];
    byId("clusters-progress").textContent = describe ? describe(progress.count) : "";
    await new Promise((again) => setTimeout(again, ASK_AGAIN));
    signal.throwIfAborted();
  }
}

/** Cancel the running job, if any. */
function cancel() {
  if (!going) return;
  going.abort();
  going = null;
  if (job) end(job);
  job = null;
}

function end(address) {
  // Ignore errors: if the service cannot be reached, its job has ended, too.
  request(address, undefined, undefined, "DELETE").catch(() => {});
}

/** Show only the form. */
function clear() {
  cancel();
  listing = renew(listing);
  [shown, asked] = [null, null];
  cleaning.forget();
  showBusy(false);
  showProblem(byId("clusters-error"), null);
  byId("clustered").hidden = true;
  byId("clusters-blank").hidden = false;
}

function showBusy(isBusy) {
  byId("clusters-busy").textContent = isBusy ? "Comparing all documents with all others …" : "";
  byId("clusters-progress").textContent = "";
  byId("clusters-going").hidden = !isBusy;
}

function showClusters(result) {
  total = result.total;
  byId("clustered").hidden = false;
  tellTotal(result);
  warn(byId("clusters-warnings"), result.warnings);
  for (const format of ["json", "csv"]) byId(`download-${format}`).disabled = !result.clusters.length;
  byId("cleaning-all").disabled = !total;
  fill(byId("clusters"));
  append(result.clusters);
  byId("clusters-told").focus({ preventScroll: true });
}

function tellTotal({ documents, pairs, total: clusters }) {
  const named = parts.named.value.trim();
  const found = clusters ? `${counted(clusters, "group")}${named ? "" : `, ${counted(pairs, "pair")}`}`
    : named ? "No group with such a name" : "No two documents belong together";
  byId("clusters-told").textContent = `${found} among ${counted(documents, "document")}`;
}

/** Append clusters to the list, and return how many it had before. */
function append(clusters) {
  const list = byId("clusters"), more = byId("clusters-more"), before = list.children.length;
  list.append(...clusters.map((cluster, at) => drawCluster(cluster, before + at)));
  offerMore(more, clusters.length ? total - list.children.length : 0);
  return before;
}

function next() {
  const list = byId("clusters"), { signal } = listing;
  return attempt(byId("clusters-more"), byId("clusters-error"), async () => {
    const before = append((await ask(pageOf(list.children.length), undefined, signal)).result.clusters);
    list.children[before]?.querySelector("a")?.focus();
  }, { signal });
}

function download(format, button) {
  return attempt(button, byId("clusters-error"), async () => {
    // A plain link would not send the credentials.
    await saveAnswer(await request(`${job}?format=${format}`), `duplicates.${format}`);
  });
}

/** Draw a cluster: a row for each document, with equal documents folded, and a matrix of pairs if documents differ. */
function drawCluster({ documents, members, pairs, versions = [] }, at) {
  const first = members.find((member) => member.is_principal), others = members.filter((member) => member !== first);
  const alike = others.filter(isSame), same = alike.length < FOLDED ? [] : alike;
  const different = others.filter((member) => !same.includes(member));
  const title = element("h3", { id: `cluster-${at}` }, `${counted(documents, "document")}: ${nameOf(first)}`);
  const keep = element("button.plain", { type: "button", onclick: () => cleaning.markAll(others.filter(isDuplicate)) }, "Keep only the first");
  keep.setAttribute("aria-label", `Keep only the first, ${nameOf(first)}`);
  return element(
    "li.card.cluster", { "aria-labelledby": `cluster-${at}` },
    element("header", {}, title, element("p.quiet", {}, spread(others)), keep),
    drawMembers(first, [first, ...different], "rows"),
    same.length ? element(
      "details", {}, element("summary", {}, `${whole(same.length)} with exactly the same words`), drawMembers(first, same, "same"),
    ) : null,
    versions.length ? drawVersions(versions) : null,
    pairs.some((pair) => pair.jaccard < 1) && members.length > 2 && members.length <= DRAWN
      ? element("details", {}, element("summary", {}, "All pairs"), drawMatrix(members, pairs)) : null,
  );
}

/** Check that a member itself is similar to the kept document, and not linked to it only through other members. */
function isDuplicate(member) {
  const { metric, threshold, ignore_common: isCommonIgnored } = asked, shares = sharesToShow(member, isCommonIgnored);
  const alike = metric === "containment" ? Math.max(shares.a_in_b, shares.b_in_a) : shares.jaccard;
  return !member.is_principal && alike >= (threshold > 1 ? threshold / 100 : threshold) - 1e-6;
}

const isSame = (member) => member.exact && member.jaccard === 1;

/** Return the Jaccard similarity, without common text if it is ignored. */
const alikeness = (pair) => sharesToShow(pair, asked?.ignore_common).jaccard;

/** Return the range of similarities to the first document, in words. */
function spread(others) {
  const shares = others.map(alikeness), least = Math.min(...shares), most = Math.max(...shares);
  if (least === 1) return "all with the same words";
  return `${least === most ? percent(least) : `${percent(least)} to ${percent(most)}`} alike`;
}

/** Draw members with their similarity to the kept document and a checkbox for the list of deletions. */
function drawMembers(first, members, kind) {
  function row(member) {
    const isFirst = member === first, label = nameOf(member);
    const share = percent(alikeness(member)), all = percent(member.jaccard);
    const link = { href: compareLink(first.id, member.id), "aria-label": `Compare ${nameOf(first)} with ${label}, ${share}` };
    return element(
      "tr", {},
      element("td", {}, cleaning.box(member)),
      element(
        "th", { scope: "row" }, element("a", { href: documentLink(member.id) }, label),
        label !== member.id ? element("span.mono", {}, member.id) : null,
      ),
      element("td", {}, sizeOf(member.shingles)),
      element(
        "td", {}, isFirst ? "" : element("a", link, isSame(member) ? "same words" : share),
        isFirst || share === all ? null : element("span.rest", {}, `${all} with common text`),
      ),
    );
  }
  const heads = [["", "Delete"], ["Document"], ["Size, about"], ["Alike", "Alike to the first (Jaccard)"]];
  const head = heads.map(([short, long]) => element("th", { scope: "col", title: long ?? null }, short || element("span.unseen", {}, long)));
  const body = element("tbody"), more = element("button.center", { type: "button" });
  inSteps(body, more, MEMBERS)(members, row);
  return element("div", {}, element(`table.members.${kind}`, { "aria-label": "Documents of the group" }, element("thead", {}, element("tr", {}, ...head)), body), more);
}

/** Draw members in order of date, each with its additions and losses since the previous member. */
function drawVersions(versions) {
  const own = (sign, { share, words, passages }) => (share || words ? element(
    `p.${sign === "+" ? "adds" : "loses"}`, {},
    `${sign === "+" ? "adds" : "loses"} ${words === null ? percent(share) : counted(words, "word")}`,
    ...(passages ?? []).slice(0, PASSAGES).flatMap(({ text }) => [" ", element(sign === "+" ? "ins" : "del", {}, text.replace(/\s+/gu, " "))]),
  ) : null);
  return element("details", { open: true }, element("summary", {}, "Versions"), element(
    "ol.versions", { "aria-label": "Versions" }, ...versions.map((version) => element(
      "li", {}, element("p", {}, element("a", { href: documentLink(version.id) }, nameOf(version)),
        version.date ? ` ${version.date.slice(0, 10)}` : "", version.change?.jaccard === 1 ? ", the same words" : ""),
      ...(version.change ? [own("+", version.change.adds), own("−", version.change.loses)] : []).filter(Boolean),
    )),
  ));
}

const keyOf = (a, b) => (a < b ? JSON.stringify([a, b]) : JSON.stringify([b, a]));

/** Draw all pairs as a matrix: the darker, the more similar. */
function drawMatrix(members, pairs) {
  const similar = new Map(pairs.map((pair) => [keyOf(pair.a, pair.b), alikeness(pair)]));
  const isNumbered = members.length <= NUMBERED;
  function cell(row, column) {
    if (row.id === column.id) return element("td.self", {}, "");
    const share = similar.get(keyOf(row.id, column.id));
    if (share === undefined) return element("td", {}, element("span.unseen", {}, "not found"));
    const title = `${nameOf(row)}, ${nameOf(column)}: ${percent(share)}`;
    const link = { href: compareLink(row.id, column.id), title: title, "aria-label": `Compare ${title}`, tabindex: "-1" };
    return element(`td.l${level(share)}`, {}, element("a", link, isNumbered ? String(Math.floor(100 * share + 1e-9)) : ""));
  }
  const numbers = members.map((_, at) => String(at + 1));
  const head = element("tr", {}, element("td.self"), ...numbers.map((each) => element("th", { scope: "col" }, each)));
  const rows = members.map((row, at) => element(
    "tr", {}, element("th", { scope: "row" }, numbers[at]), ...members.map((column) => cell(row, column)),
  ));
  const name = isNumbered ? "matrix" : "matrix.small";
  const label = { "aria-label": "Similarity of each pair, in percent" };
  return element("div.matrix-box", {}, element(`table.${name}`, label, element("tbody", {}, head, ...rows)));
}

const level = (share) => (share >= 0.9999 ? 5 : share >= 0.9 ? 4 : share >= 0.8 ? 3 : share >= 0.6 ? 2 : 1);
