/** The clusters of the store: documents that belong together, the largest cluster first. */

import { Failure, ask, request } from "./api.js";
import { byId, element, fill, inSteps, showValue, warn } from "./dom.js";
import { counted, percent, whole } from "./format.js";
import { showProblem } from "./problem.js";
import { written } from "./query.js";

const CLUSTERS = 10;
/** Members of a cluster that is drawn as a matrix, and with numbers in it. */
const DRAWN = 30, NUMBERED = 8;
const MEMBERS = 12;
const ASK_AGAIN = 300;
const PROGRESS = {
  waiting: () => "Others are first.",
  reading: (count) => `${counted(count, "document")} read`,
  comparing: (count) => `${counted(count, "pair")} found so far`,
  "reading whole": (count) => `${counted(count, "pair")} compared word by word`,
  clustering: (count) => counted(count, "cluster"),
};
const parts = {};
/** The address of the job whose clusters are shown or looked for, and what ends the looking. */
let job = null, going = null, total = 0;

/** Make the view work; once. */
export function start() {
  for (const part of ["threshold", "recall", "metric", "complete"]) parts[part] = byId(`cluster-${part}`);
  for (const part of ["threshold", "recall"]) {
    const tell = () => showValue(parts[part], byId(`cluster-${part}-told`));
    parts[part].addEventListener("input", tell);
    tell();
  }
  byId("clustering").addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  byId("clusters-cancel").addEventListener("click", () => {
    cancel();
    showBusy(false);
    byId("clusters-blank").hidden = false;
    byId("clustering").querySelector("[type=submit]").focus();
  });
  addEventListener("pagehide", cancel);
  byId("clusters-more").addEventListener("click", next);
  for (const format of ["json", "csv"]) {
    byId(`download-${format}`).addEventListener("click", (event) => download(format, event.currentTarget));
  }
}

/** Show the view; clusters are looked for when they are asked for. */
export function show() {}

function question() {
  return {
    threshold: Number(written(parts.threshold.value)),
    metric: parts.metric.value,
    recall: Number(written(parts.recall.value)),
    complete: parts.complete.checked,
  };
}

async function run() {
  cancel();
  going = new AbortController();
  const { signal } = going;
  byId("clusters-blank").hidden = true;
  byId("clustered").hidden = true;
  showBusy(true);
  showProblem(byId("clusters-error"), null);
  try {
    const { id } = await ask("/api/duplicates", question());
    const address = `/api/duplicates/${encodeURIComponent(id)}`;
    if (signal.aborted) return void end(address);
    job = address;
    const found = await finished(signal);
    going = null;
    showBusy(false);
    showClusters(found);
  } catch (error) {
    if (signal.aborted) return;
    going = null;
    showBusy(false);
    showProblem(byId("clusters-error"), error);
  }
}

/** Wait until the job is over, and return the first page of what it found. */
async function finished(signal) {
  for (;;) {
    const { state, progress, result, error } = await ask(`${job}?rows=${CLUSTERS}`, undefined, signal);
    if (error) throw new Failure(error.message, { status: error.statusCode });
    if (result) return result;
    const told = PROGRESS[state === "waiting" ? state : progress.doing];
    byId("clusters-progress").textContent = told ? told(progress.count) : "";
    await new Promise((again) => setTimeout(again, ASK_AGAIN));
    signal.throwIfAborted();
  }
}

/** Give up what is being looked for, if anything is. */
function cancel() {
  if (!going) return;
  going.abort();
  going = null;
  if (job) end(job);
  job = null;
}

function end(address) {
  // Who has lost the service has lost the job as well.
  request(address, undefined, undefined, "DELETE").catch(() => {});
}

function showBusy(isBusy) {
  byId("clusters-busy").textContent = isBusy ? "Comparing all documents with all others …" : "";
  byId("clusters-progress").textContent = "";
  byId("clusters-going").hidden = !isBusy;
}

function showClusters(told) {
  const { documents, pairs, warnings } = told;
  total = told.total;
  byId("clustered").hidden = false;
  const found = total ? `${counted(total, "cluster")}, ${counted(pairs, "pair")}` : "No two documents belong together";
  byId("clusters-told").textContent = `${found} among ${counted(documents, "document")}`;
  warn(byId("clusters-warnings"), warnings);
  for (const format of ["json", "csv"]) byId(`download-${format}`).disabled = !total;
  fill(byId("clusters"));
  append(told.clusters);
  byId("clusters-told").focus();
}

/** Show further clusters, and return how many were shown before. */
function append(clusters) {
  const list = byId("clusters"), more = byId("clusters-more"), before = list.children.length;
  list.append(...clusters.map((cluster, at) => drawCluster(cluster, before + at)));
  const left = total - list.children.length;
  more.hidden = left <= 0 || !clusters.length;
  more.textContent = `Show more (${whole(left)} left)`;
  return before;
}

async function next() {
  const more = byId("clusters-more"), list = byId("clusters");
  more.disabled = true;
  try {
    const before = append((await ask(`${job}?start=${list.children.length}&rows=${CLUSTERS}`)).result.clusters);
    list.children[before]?.querySelector("a")?.focus();
  } catch (error) {
    showProblem(byId("clusters-error"), error);
  } finally {
    more.disabled = false;
  }
}

async function download(format, button) {
  button.disabled = true;
  try {
    // Not a link: it would not carry who asks.
    const answer = await request(`${job}?format=${format}`);
    const named = answer.headers.get("Content-Disposition")?.match(/filename="([^"]+)"/)?.[1];
    const address = URL.createObjectURL(await answer.blob());
    element("a", { href: address, download: named ?? `duplicates.${format}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    showProblem(byId("clusters-error"), error);
  } finally {
    button.disabled = false;
  }
}

function drawCluster({ documents, members, pairs }, at) {
  const title = element("h3", { id: `cluster-${at}` }, `${whole(at + 1)}. ${counted(documents, "document")}`);
  const isDrawn = pairs.length && members.length > 2 && members.length <= DRAWN;
  return element(
    "li.card.cluster", { "aria-labelledby": `cluster-${at}` },
    element("header", {}, title, element("p.quiet", {}, spread(members, pairs))),
    element("div.drawn", {}, drawMembers(members), isDrawn ? drawMatrix(members, pairs) : null),
  );
}

/** How alike the members are. */
function spread(members, pairs) {
  const shares = pairs.length ? pairs.map((pair) => pair.jaccard) : members.slice(1).map((each) => each.jaccard);
  const least = shares.reduce((some, share) => Math.min(some, share), 1), most = shares.reduce((some, share) => Math.max(some, share), 0);
  const told = least === most ? percent(least) : `${percent(least)} to ${percent(most)}`;
  return pairs.length ? `${counted(pairs.length, "pair")}, Jaccard ${told}` : `Jaccard with the first ${told}`;
}

const keyOf = (a, b) => (a < b ? JSON.stringify([a, b]) : JSON.stringify([b, a]));
const nameOf = ({ id, name }) => name || id;

/** The members, each with what it has in common with the first. */
function drawMembers(members) {
  const [first] = members;
  function row(member, at) {
    const told = `Compare ${nameOf(first)} with ${nameOf(member)}, ${percent(member.jaccard)}`;
    const link = { href: compareLink(first.id, member.id), "aria-label": told };
    return element(
      "tr", {}, element("td", {}, whole(at + 1)),
      element("td", {}, nameOf(member), nameOf(member) !== member.id ? element("span.mono", {}, member.id) : null),
      element("td", {}, whole(member.shingles)), element("td", {}, at ? element("a", link, percent(member.jaccard)) : ""),
    );
  }
  const heads = [["#", "Number"], ["Document"], ["Shingles"], ["Jaccard with 1", "Jaccard with the first"]];
  const head = heads.map(([short, long]) => element("th", { scope: "col", "aria-label": long ?? null }, short));
  const body = element("tbody"), more = element("button.center", { type: "button" });
  inSteps(body, more, members.length <= DRAWN ? DRAWN : MEMBERS)(members, row);
  return element("div", {}, element("table.members", {}, element("thead", {}, element("tr", {}, ...head)), body), more);
}

/** All pairs as a square: the darker, the more alike. */
function drawMatrix(members, pairs) {
  const similar = new Map(pairs.map((pair) => [keyOf(pair.a, pair.b), pair.jaccard]));
  const isNumbered = members.length <= NUMBERED;
  function cell(row, column) {
    if (row.id === column.id) return element("td.self", {}, "");
    const share = similar.get(keyOf(row.id, column.id));
    if (share === undefined) return element("td", {}, element("span.unseen", {}, "not found"));
    const told = `${nameOf(row)}, ${nameOf(column)}: ${percent(share)}`;
    const link = { href: compareLink(row.id, column.id), title: told, "aria-label": `Compare ${told}`, tabindex: "-1" };
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

const compareLink = (a, b) => `#compare?${new URLSearchParams({ a, b })}`;
