/** The search: a query, what it looks for, and the documents that it finds. */

import { ask } from "./api.js";
import { byId, element, fill, settled, showValue, warn } from "./dom.js";
import { counted, percent, shareOf, whole } from "./format.js";
import { showProblem } from "./problem.js";
import { SOURCE, literal, quoted, read, withNumbers, withReference } from "./query.js";
import { own, watchSource } from "./source.js";

const ROWS = 25;
const PAUSE = 250;
const METRICS = {
  jaccard: (least) => `At least ${least} of what both have together is in both.`,
  a_in_b: (least) => `At least ${least} of the source (A) is in the document (B).`,
  b_in_a: (least) => `At least ${least} of the document (B) is in the source (A).`,
};
const EXAMPLES = ["*:*", "FINGERPRINT:id_50_95", "FINGERPRINT:id_20_95 AND type:pdf", 'name:"annual report"'];
const parts = {};
let asked = null, hits = [], going = null;

const threshold = () => Number(parts.threshold.value);
const recall = () => Number(parts.recall.value);
const metric = () => parts.form.elements.metric.value;
const isCalibrated = () => parts.plan.value === "calibrated";

/** Make the view work; once. */
export function start() {
  const ids = ["query", "threshold", "recall", "plan", "hits", "found", "blank", "more", "explain", "explained"];
  for (const id of ids) parts[id] = byId(id);
  parts.form = byId("ask");
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
  const later = settled(PAUSE, () => asked && run());
  for (const slider of [parts.threshold, parts.recall]) {
    slider.addEventListener("input", () => {
      setQuery(withNumbers(parts.query.value, threshold(), recall()));
      tell();
      later();
    });
  }
  for (const input of [...parts.form.elements.metric, parts.plan]) {
    input.addEventListener("change", () => {
      tell();
      later();
    });
  }
  parts.more.addEventListener("click", () => next());
  parts.explain.addEventListener("toggle", explain);
  watchSource(sourceChanged, (error) => showProblem(parts.problem, error));
  fill(byId("examples"), ...EXAMPLES.map((query) => element("li", {}, element("button", {
    type: "button", onclick: () => {
      setQuery(query);
      adopt();
      parts.query.focus();
      const at = query.indexOf("id_");
      if (at < 0) run();
      else parts.query.setSelectionRange(at, at + 2);
    },
  }, query))));
  tell();
}

/** Show the view with what the address says. */
export function show(parameters) {
  const query = parameters.get("q");
  if (query === null) {
    // The way back to an empty page; a query that was typed stays.
    if (asked) address();
    return;
  }
  if (asked && address.of(asked) === location.hash) return;
  parts.plan.value = parameters.get("plan") === "stock" ? "stock" : "calibrated";
  const wanted = parameters.get("metric");
  parts.form.elements.metric.value = Object.hasOwn(METRICS, wanted) ? wanted : "jaccard";
  setQuery(query);
  adopt();
  run();
}

function setQuery(query) {
  parts.query.value = query;
  grow();
}

function grow() {
  parts.query.style.height = "auto";
  parts.query.style.height = `${parts.query.scrollHeight + 2}px`;
}

/** Put the numbers of the query into the sliders. */
function adopt() {
  const told = read(parts.query.value);
  if (told?.threshold) parts.threshold.value = Math.round(told.threshold);
  if (told?.recall) parts.recall.value = Math.round(told.recall);
  tell();
}

function tell() {
  showValue(parts.threshold, byId("threshold-told"));
  showValue(parts.recall, byId("recall-told"));
  for (const input of parts.form.elements.metric) input.disabled = !isCalibrated();
  byId("metric-told").textContent = isCalibrated()
    ? METRICS[metric()](`${threshold()} %`)
    : `Bands of tokens that find a share of ${threshold()} % in ${recall()} of 100.`;
}

function sourceChanged() {
  const isAsked = read(parts.query.value)?.reference === SOURCE;
  if (own.text === null) {
    if (isAsked) showFound(null);
    return;
  }
  if (!isAsked) setQuery(withReference(parts.query.value, SOURCE, threshold(), recall()));
  run();
}

function question() {
  const query = parts.query.value;
  const source = own.text !== null && /FINGERPRINT:\s*source/u.test(query) ? { source: own.text } : {};
  return { query, plan: parts.plan.value, metric: metric(), ...source };
}

function address() {
  const wanted = address.of(asked);
  if (location.hash === wanted) return;
  // What was asked first replaces the empty page, so that "back" leads to what was before it.
  if (location.hash.startsWith("#search?")) history.pushState(null, "", wanted);
  else history.replaceState(null, "", wanted);
}
address.of = ({ query, plan, metric: by }) => {
  const told = new URLSearchParams({ q: query });
  if (plan !== "calibrated") told.set("plan", plan);
  else if (by !== "jaccard") told.set("metric", by);
  return `#search?${told}`;
};

async function run() {
  going?.abort();
  going = new AbortController();
  const { signal } = going, wanted = question();
  parts.form.setAttribute("aria-busy", "true");
  try {
    const page = await ask("/api/search", { ...wanted, rows: ROWS }, signal);
    asked = wanted;
    showProblem(parts.problem, null);
    parts.query.removeAttribute("aria-invalid");
    address();
    showFound(page);
  } catch (error) {
    if (error.name === "AbortError") return;
    showFound(null);
    parts.blank.hidden = true;
    showProblem(parts.problem, error, wanted.query);
    if (error.span) parts.query.setAttribute("aria-invalid", "true");
  } finally {
    if (going?.signal === signal) parts.form.removeAttribute("aria-busy");
  }
}

async function next() {
  parts.more.disabled = true;
  try {
    const page = await ask("/api/search", { ...asked, start: hits.length, rows: ROWS });
    const first = hits.length;
    append(page);
    parts.hits.children[first]?.querySelector("a")?.focus();
  } catch (error) {
    showProblem(parts.problem, error, asked.query);
  } finally {
    parts.more.disabled = false;
  }
}

function showFound(page) {
  // What the keyboard was at is about to go.
  const hadKeyboard = parts.hits.contains(document.activeElement);
  hits = [];
  parts.found.hidden = page === null;
  parts.blank.hidden = page !== null;
  if (page === null) {
    asked = null;
    return;
  }
  parts.hits.replaceChildren();
  byId("found-told").textContent = page.total
    ? `${page.total_is_exact ? "" : "At least "}${counted(page.total, "document")}` : "No document";
  byId("found-how").textContent = how(page);
  warn(byId("found-warnings"), page.warnings);
  append(page);
  byId("columns").hidden = !page.hits.some((hit) => hit.measured);
  parts.explain.open = false;
  if (hadKeyboard) byId("found-told").focus();
}

function how({ total, hits: found, sources }) {
  if (!total) return sources.length ? "A lower threshold finds more." : "Other words find more.";
  if (!found.some(({ measured }) => measured && !measured.exact)) return "";
  return "Estimates: the dark part of a bar is the 95 % interval. Compare counts exactly.";
}

function append(page) {
  hits.push(...page.hits);
  const source = page.sources.length === 1 ? page.sources[0] : null;
  parts.hits.append(...page.hits.map((hit) => row(hit, source)));
  parts.more.hidden = hits.length >= page.total || !page.hits.length;
  parts.more.textContent = `Show more (${whole(page.total - hits.length)} left)`;
}

function row(hit, source) {
  const isOwn = source === SOURCE && own.text !== null;
  const isSource = !isOwn && hit.id === source;
  const name = element("h3", {}, hit.name || hit.id, isSource ? element("span.tag", {}, "source") : null);
  const title = element("div", {}, name, hit.name && hit.name !== hit.id ? element("p.mono", {}, hit.id) : null);
  const told = hit.measured;
  const numbers = told
    ? [
      shareOf("Jaccard", told, "jaccard", "first"), shareOf("A in B", told, "a_in_b", "second"),
      shareOf("B in A", told, "b_in_a", "second"), element("p.size", {}, whole(told.shingles)),
    ]
    : [element("p.points", {}, points(hit, source)), element("p.size")];
  return element("li.hit", {}, title, ...numbers, element("p.links", {}, ...links(hit, source, isOwn, isSource)));
}

function points(hit, source) {
  if (!source) return "";
  return asked.plan === "stock" ? `${whole(hit.score)} points` : percent(hit.score / 100);
}

function links(hit, source, isOwn, isSource) {
  const label = hit.name || hit.id, made = [];
  if (source && !isSource) {
    const sides = new URLSearchParams(isOwn ? { own: "a", b: hit.id } : { a: source, b: hit.id });
    made.push(element("a", { href: `#compare?${sides}`, "aria-label": `Compare with ${label}` }, "Compare"));
  }
  if (!isSource) {
    const query = literal(quoted(hit.id), threshold(), recall());
    const told = { "aria-label": `Find documents like ${label}` };
    made.push(element("a", { href: `#search?${new URLSearchParams({ q: query })}`, ...told }, "Find similar"));
  }
  return made;
}

async function explain() {
  if (!parts.explain.open || !asked) return;
  fill(parts.explained, element("p.quiet", { role: "status" }, "Working it out …"));
  try {
    const told = await ask("/api/explain", { ...asked, rows: ROWS });
    const titled = (title, lines) => [element("h3", {}, title), element("pre", { tabindex: "0" }, lines)];
    fill(
      parts.explained,
      ...told.fingerprints.flatMap(({ source, plan }) => titled(`What is found for ${source}`, plan.join("\n"))),
      ...titled("The query", told.plan.join("\n")),
      ...titled("The request", JSON.stringify(told.request, null, 2)),
    );
  } catch (error) {
    showProblem(parts.explained, error, asked.query);
  }
}
