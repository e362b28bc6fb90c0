/** First view: the documents of the store, and the box for the user's own text. */

import { amend } from "./address.js";
import { addFiles, watchAdding } from "./adding.js";
import { forget } from "./cleaning.js";
import { byId, debounce, element, fill, offerMore, onFiles, renew, warn } from "./dom.js";
import { counted, sizeOf, whole } from "./format.js";
import { connectOwn } from "./incoming.js";
import { attempt, showProblem } from "./problem.js";
import { about, compareLink, documentLink, documentsNamed, nameOf, sourcesLink } from "./store.js";

const ROWS = 50, MOST = 1000;
const PAUSE = 150;
const ISO = /^\d{4}-\d{2}-\d{2}(?:T|$)/;
/** Parts of names of date properties, the preferred first. */
const DATED = ["modif", "updat", "changed", "date", "publish", "creat"];
let listed = null, going = null, count = 0;

export function start() {
  const filter = byId("documents-filter");
  filter.addEventListener("input", debounce(PAUSE, () => {
    if (amend("documents", address(filter.value, ROWS))) list(filter.value, ROWS);
  }));
  byId("documents-more").addEventListener("click", more);
  connectOwn("own", "sources", { rows: 2, documents: "the documents below" });
  for (const id of ["add-files", "add-first"]) onFiles(byId(id), addFiles);
  watchAdding();
  addEventListener("whorl:changed", () => {
    listed = null;
    if (!byId("view-documents").hidden) list(filter.value, Math.max(ROWS, count));
  });
}

export function show(parameters) {
  const named = parameters.get("named") ?? "", rows = Math.min(MOST, Math.max(ROWS, Number(parameters.get("rows")) || 0));
  byId("documents-filter").value = named;
  return listed === address(named, rows) ? undefined : list(named, rows);
}

function address(named, rows) {
  const parameters = new URLSearchParams();
  if (named) parameters.set("named", named);
  if (rows > ROWS) parameters.set("rows", rows);
  return parameters.size ? `#documents?${parameters}` : "#documents";
}

async function list(named, rows) {
  going = renew(going);
  const { signal } = going;
  try {
    const [page, { is_read_only: isReadOnly, documents }] = await Promise.all([documentsNamed(named, { rows, signal }), about()]);
    if (signal.aborted) return;
    listed = address(named, rows);
    showProblem(byId("documents-problem"), null);
    warn(byId("documents-warnings"), page.warnings);
    fill(byId("documents"));
    count = 0;
    const isEmpty = !page.total && !page.warnings.length && !named;
    byId("documents-empty").hidden = !isEmpty;
    byId("documents-listed").hidden = isEmpty;
    byId("own").hidden = isEmpty;
    byId("add-here").hidden = isReadOnly;
    byId("add").hidden = isReadOnly || isEmpty;
    byId("empty-told").textContent = isReadOnly
      ? "There are no documents here yet, and this service is read-only: add some with whorl index."
      : "Drop files or a folder here to compare them. They stay with this service.";
    byId("documents-told").textContent = named
      ? `${whole(page.total)} of ${counted(documents, "document")}` : counted(page.total, "document");
    append(page, isReadOnly);
  } catch (error) {
    if (!signal.aborted) showProblem(byId("documents-problem"), error);
  }
}

function append({ total, documents }, isReadOnly) {
  byId("documents").append(...documents.map((each) => row(each, isReadOnly)));
  count += documents.length;
  offerMore(byId("documents-more"), documents.length ? total - count : 0);
  // Hide a column without values.
  byId("documents-table").classList.toggle("dateless", !byId("documents").querySelector("time"));
}

function more() {
  const named = byId("documents-filter").value, before = count, { signal } = going;
  return attempt(byId("documents-more"), byId("documents-problem"), async () => {
    const { is_read_only: isReadOnly } = await about();
    append(await documentsNamed(named, { start: count, rows: ROWS, signal }), isReadOnly);
    listed = address(named, count);
    amend("documents", listed);
    byId("documents").children[before]?.querySelector("a").focus();
  }, { signal });
}

function row(document_, isReadOnly) {
  const { id, shingles, properties } = document_, label = nameOf(document_), date = dateOf(properties);
  const link = (href, text) => element("a", { href, "aria-label": `${text}: ${label}` }, text);
  return element(
    "tr", {},
    element(
      "th", { scope: "row" }, element("a", { href: documentLink(id) }, label),
      label !== id ? element("span.mono", {}, id) : null,
    ),
    element("td.size", {}, shingles === null ? "" : sizeOf(shingles)),
    element("td.date", {}, date ? element("time", { datetime: date }, date.slice(0, 10)) : ""),
    element(
      "td.links", {}, link(documentLink(id), "Find similar"), " ", link(sourcesLink(id), "Sources"), " ",
      link(compareLink(id), "Compare"), " ",
      isReadOnly ? null : element("button.plain", { type: "button", "aria-label": `Delete ${label}`, onclick: () => forget(document_) }, "Delete"),
    ),
  );
}

/** Return a document's date as stored, preferably the date of its last change; null if it has no date. */
function dateOf(properties) {
  const dated = Object.entries(properties).filter(([, values]) => ISO.test(String(values[0] ?? "")));
  const rank = ([name]) => {
    const at = DATED.findIndex((part) => name.toLowerCase().includes(part));
    return at < 0 ? DATED.length : at;
  };
  const [best] = dated.sort((a, b) => rank(a) - rank(b));
  return best ? String(best[1][0]) : null;
}
