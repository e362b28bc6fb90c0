/** Form that builds a clause of a query from a field, a condition and a value. */

import { byId, element, fill } from "./dom.js";
import { about } from "./store.js";

/** Conditions for each type of values that a field can have, and for each condition a function that writes the clause. */
const CONDITIONS = {
  words: { "has the words": (name, value) => `${name}:${phrase(value)}`, "has a word that begins with": (name, value) => `${name}:${word(value)}*` },
  text: { "is exactly": (name, value) => `=${name}:${phrase(value)}` },
  "whole numbers": { "is": (name, value) => `${name}:${word(value)}`, "is at least": (name, value) => `${name}:[${word(value)} TO MAX]`, "is at most": (name, value) => `${name}:[MIN TO ${word(value)}]` },
  numbers: { "is at least": (name, value) => `${name}:[${word(value)} TO MAX]`, "is at most": (name, value) => `${name}:[MIN TO ${word(value)}]` },
  dates: { "is on": (name, value) => `${name}:${phrase(value)}`, "is on or after": (name, value) => `${name}:[${phrase(value)} TO MAX]`, "is on or before": (name, value) => `${name}:[MIN TO ${phrase(value)}]` },
  "true or false": { "is": (name, value) => `${name}:${word(value)}` },
};
let fields = null;

const phrase = (value) => `"${value.trim().replace(/["\\]/g, "\\$&")}"`;
const word = (value) => value.trim().replace(/[^\p{L}\p{N}]/gu, "\\$&");
const nameOf = (name) => (/^[\p{L}_][\p{L}\p{N}_.:]*$/u.test(name) ? name : name.replace(/[^\p{L}\p{N}_:]/gu, "\\$&"));

/**
 * Connect the form; call once.
 * @param {function(string)} take Called with the clause.
 */
export function watchBuilder(take) {
  const field = byId("build-field"), condition = byId("build-condition"), value = byId("build-value");
  byId("language").addEventListener("toggle", async () => {
    if (fields) return;
    const store = await about().catch(() => null);
    if (!store) return;
    fields = new Map(store.fields.map(({ name, types }) => [name, conditionsOf(types)]).filter(([, all]) => all.size));
    fill(field, ...[...fields.keys()].map((name) => element("option", { value: name }, name === "content" ? "text of the document" : name)));
    field.value = fields.has("name") ? "name" : field.value;
    showConditions();
  });
  function showConditions() {
    fill(condition, ...[...(fields.get(field.value) ?? new Map()).keys()].map((each) => element("option", { value: each }, each)));
  }
  field.addEventListener("change", showConditions);
  function add() {
    const write = fields?.get(field.value)?.get(condition.value);
    if (!write || !value.value.trim()) return void value.focus();
    take(write(nameOf(field.value), value.value));
    value.value = "";
  }
  byId("build-add").addEventListener("click", add);
  value.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    add();
  });
}

function conditionsOf(types) {
  return new Map(types.flatMap((type) => Object.entries(CONDITIONS[type] ?? {})));
}
