/** The service's routes. Who has to sign in is asked, and then the request goes on. */

import { credentials, signIn } from "./sign-in.js";

const API = "/api/v1";

/** An answer that is none: `message` for people, and of a wrong query also `span` and `hint`. */
export class Failure extends Error {
  constructor(message, { span = null, hint = "", status = 0 } = {}) {
    super(message);
    Object.assign(this, { span, hint, status });
  }
}

/**
 * Ask a route of the API.
 * @param {string} path Below that of the API, with its parameters.
 * @param {Object|string} [body] Sent as JSON, a text as lines of it; without one it is a GET.
 * @param {AbortSignal} [signal]
 * @param {string} [method] GET or POST, as there is a body, if it is not said.
 * @returns {Promise<Response>} With a status of success.
 */
export async function request(path, body, signal, method = body === undefined ? "GET" : "POST") {
  for (let wasRefused = false; ; wasRefused = true) {
    const given = credentials(), answer = await send(path, body, signal, method);
    if (answer.ok) return answer;
    if (answer.status !== 401) throw await failureOf(answer);
    // Who has signed in meanwhile, for another request, is not asked again.
    if (credentials() !== null && credentials() !== given) continue;
    if (!await signIn(wasRefused && given !== null)) throw new Failure("this needs a sign-in", { status: 401 });
  }
}

/** Ask a route and return the JSON that it answers. */
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
  // What ends something is sent although the page is left.
  const init = { method, headers, signal, credentials: "omit", cache: "no-store", keepalive: method === "DELETE" };
  if (body !== undefined) {
    const isLines = typeof body === "string";
    headers["Content-Type"] = isLines ? "application/x-ndjson" : "application/json";
    init.body = isLines ? body : JSON.stringify(body);
  }
  try {
    // Without credentials of its own the browser does not ask for a password, so that the page can.
    return await fetch(`${API}${path}`, init);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("the service does not answer; is it still running?");
  }
}

async function failureOf(answer) {
  const { error } = await answer.json().catch(() => ({}));
  const message = error?.message ?? `the service answered ${answer.status} ${answer.statusText}`.trim();
  return new Failure(message, { span: error?.span, hint: error?.hint, status: answer.status });
}
