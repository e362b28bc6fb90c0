/** Client of the service's routes. On 401 it asks the user to sign in and repeats the request. */

import { credentials, signIn } from "./sign-in.js";

/** Path of the API, relative to the page's address, because a proxy may put a prefix before all paths. */
const API = "api/v1";

/**
 * A failed request: a `message` for the user and, depending on the error, `span` and `hint` for a wrong query, a
 * `suggested` id for an unknown id, `choices` for the user (each with a `label` and a function `choose`), or the `report`
 * on an upload without a valid line.
 */
export class Failure extends Error {
  constructor(message, { span = null, hint = "", suggested = null, status = 0, choices = [], report = null } = {}) {
    super(message);
    Object.assign(this, { span, hint, suggested, status, choices, report });
  }
}

/**
 * Send a request to a route of the API.
 * @param {string} path Path after the prefix `API`, with the query string.
 * @param {Object|string} [body] An object is sent as JSON, a text as JSON lines. Without a body, the method is GET.
 * @param {AbortSignal} [signal]
 * @param {string} [method] By default POST with a body, and GET without a body.
 * @returns {Promise<Response>} A response with a status of success.
 */
export async function request(path, body, signal, method = body === undefined ? "GET" : "POST") {
  for (let wasRefused = false; ; wasRefused = true) {
    const given = credentials(), answer = await send(path, body, signal, method);
    if (answer.ok) return answer;
    if (answer.status !== 401) throw await failureOf(answer);
    // Do not ask again if the user has signed in for another request in the meantime.
    if (credentials() !== null && credentials() !== given) continue;
    if (!await signIn(wasRefused && given !== null)) throw new Failure("this needs a sign-in", { status: 401 });
  }
}

/** Send a request and return the JSON of the response. */
export async function ask(path, body, signal) {
  const answer = await request(path, body, signal);
  try {
    return await answer.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure("the answer was cut off; ask again");
  }
}

async function send(path, body, signal, method) {
  const headers = { Accept: "application/json" };
  const authorization = credentials();
  if (authorization !== null) headers.Authorization = authorization;
  // Send a DELETE even if the user leaves the page.
  const init = { method, headers, signal, credentials: "omit", cache: "no-store", keepalive: method === "DELETE" };
  if (body !== undefined) {
    const isLines = typeof body === "string";
    headers["Content-Type"] = isLines ? "application/x-ndjson" : "application/json";
    init.body = isLines ? body : JSON.stringify(body);
  }
  try {
    // With "omit", the browser does not show its own password dialog.
    return await fetch(`${API}${path}`, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("the service does not answer; is it still running?");
  }
}

async function failureOf(answer) {
  const body = await answer.json().catch(() => ({})), { error, errors } = body;
  // If all lines of an upload are refused, the response is the report with their errors.
  const message = error?.message ?? errors?.[0]?.message ?? `the service answered ${answer.status} ${answer.statusText}`.trim();
  const { span, hint, suggested } = error ?? {};
  return new Failure(message, { span, hint, suggested, status: answer.status, report: errors ? body : null });
}
