/** Uploads files as documents in batches, with progress. */

import { Failure, request } from "./api.js";
import { byId, element, fill } from "./dom.js";
import { counted, percent, whole } from "./format.js";
import { MOST_BYTES, textIn, tooLarge, withName } from "./files.js";
import { about, changed, compareLink, nameOf } from "./store.js";

/** Maximum number of documents in one request. A request is sent once it has `CHARACTERS` characters. */
const AT_ONCE = 1000, CHARACTERS = 4_000_000;
/** Names of files whose lines are documents, as JSON. */
const JSON_LINES = /\.(jsonl|ndjson)$/i;
const LISTED = 20;
/** Smallest similarity, in percent, at which a new document is reported as a repeat of a stored document. */
const ALIKE = 80;
/** Statuses of failures that end the upload, because all further requests would fail: 0 is a service that does not answer. */
const FINAL = new Set([0, 401, 403]);
let isCancelled = false;
/** Files of the running upload, or null. */
let queue = null;

/** Connect the button that cancels the upload; call once. */
export function watchAdding() {
  byId("adding-cancel").addEventListener("click", () => { isCancelled = true; });
}

/**
 * Store files as documents. The service refuses a document whose id has another text. While an upload is running, its queue
 * takes the files.
 * @param {File[]} files The id of a document is its file's `path`, else `webkitRelativePath`, else `name`.
 */
export async function addFiles(files) {
  if (!files.length) return;
  location.hash = "#documents";
  if (queue) {
    queue.push(...files);
    return;
  }
  [isCancelled, queue] = [false, [...files]];
  const bar = byId("adding-bar"), status = byId("adding-told"), problems = [], repeats = [];
  let done = 0, stored = 0, unchanged = 0, waiting = [], characters = 0;
  byId("adding").hidden = byId("adding-cancel").hidden = bar.hidden = false;
  fill(byId("adding-problems"));
  fill(byId("adding-repeats"));
  /** List a failure as a problem of each of some files; throw it if it ends the upload. */
  function refuse(error, ids) {
    if (error instanceof Failure && FINAL.has(error.status)) throw error;
    problems.push(...ids.map((id) => withName(error, id).message));
  }
  async function send() {
    if (!waiting.length) return;
    try {
      await post(waiting.map((each) => JSON.stringify(each)));
    } catch (error) {
      refuse(error, waiting.map(({ id }) => id));
    }
    [waiting, characters] = [[], 0];
  }
  /** Store lines; `name` and `first` are the name of their file and the number of the first line, for messages. */
  async function post(lines, name = "", first = 1) {
    // Without sketches, the search for repeats would take too long.
    const { has_sketches: canTell } = await about();
    const report = await reportOf(request(`/documents?replace=false${canTell ? `&warn=${ALIKE}` : ""}`, lines.join("\n")));
    repeats.push(...report.repeats ?? []);
    stored += report.stored;
    unchanged += report.unchanged;
    problems.push(...report.errors.map((each) => (name ? `${name}, line ${first + each.line - 1}: ` : "") + each.message));
  }
  /** Store each line of a file as a document. */
  async function addLines(file, name) {
    if (file.size > MOST_BYTES) throw tooLarge(file);
    const lines = (await file.text()).split(/\r?\n/);
    for (let first = 0, end = 0; first < lines.length && !isCancelled; first = end) {
      for (let size = 0; end < lines.length && end - first < AT_ONCE && size < CHARACTERS; end += 1) size += lines[end].length;
      const some = lines.slice(first, end);
      if (some.some((line) => line.trim())) await post(some, name, first + 1);
    }
  }
  try {
    while (done < queue.length && !isCancelled) {
      const file = queue[done];
      [bar.max, bar.value] = [queue.length, done];
      status.textContent = `${whole(done)} of ${counted(queue.length, "file")}`;
      const id = file.path || file.webkitRelativePath || file.name;
      const hasLines = JSON_LINES.test(file.name);
      if (hasLines) await send();
      try {
        if (hasLines) {
          await addLines(file, id);
        } else {
          const text = await textIn(file, false);
          waiting.push({ id, name: file.name, text, modified: new Date(file.lastModified).toISOString().slice(0, 19) + "Z" });
          characters += text.length;
        }
      } catch (error) {
        refuse(error, [id]);
      }
      done += 1;
      if (waiting.length >= AT_ONCE || characters >= CHARACTERS || done === queue.length) await send();
    }
    await send();
  } catch (error) {
    problems.push(error.message);
  }
  const left = queue.length - done + waiting.length;
  queue = null;
  bar.hidden = byId("adding-cancel").hidden = true;
  status.textContent = [
    `${counted(stored, "document")} stored`, unchanged ? `${whole(unchanged)} there already` : "",
    problems.length ? counted(problems.length, "problem") : "", isCancelled ? "cancelled" : "",
    left ? `${counted(left, "file")} not added` : "",
  ].filter(Boolean).join(", ");
  fill(byId("adding-problems"), ...problems.slice(0, LISTED).map((each) => element("li", {}, each)));
  fill(byId("adding-repeats"), ...repeats.slice(0, LISTED).map(({ id, hits: [best] }) => element(
    "li", {}, `${id} repeats `, element("a", { href: compareLink(id, best.id) }, nameOf(best)), `: ${percent(best.jaccard)} alike`,
  )));
  changed();
}

/** Return the report of an upload, even if all of its lines are refused. */
async function reportOf(upload) {
  try {
    return await (await upload).json();
  } catch (error) {
    if (!error.report) throw error;
    return error.report;
  }
}
