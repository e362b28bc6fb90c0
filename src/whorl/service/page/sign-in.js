/** Sign-in with a key, or a user name and a password, kept in this tab only. */

import { byId } from "./dom.js";

const KEPT = "whorl.authorization";
let asking = null;

/** Return the Authorization header; null before sign-in. */
export const credentials = () => sessionStorage.getItem(KEPT);

/** Forget the credentials and the user's own texts. */
export function signOut() {
  sessionStorage.clear();
  showState();
}

/** Show the sign-out button if the user is signed in. */
export function showState() {
  byId("sign-out").hidden = credentials() === null;
}

/**
 * Ask for a key or a password; several requests share one dialog.
 * @param {boolean} wasWrong Whether the service has refused the former credentials.
 * @returns {Promise<boolean>} Whether the user has entered credentials.
 */
export function signIn(wasWrong) {
  asking ??= show(wasWrong).finally(() => { asking = null; });
  return asking;
}

function show(wasWrong) {
  const dialog = byId("sign-in"), form = byId("sign-in-form");
  const fields = { user: byId("user"), password: byId("password"), key: byId("key") };
  byId("sign-in-error").textContent = wasWrong ? "The service does not accept these. Try again." : "";
  fields.password.value = fields.key.value = "";
  const isKey = () => form.elements.kind.value === "key";
  function choose() {
    byId("by-user").hidden = isKey();
    byId("by-key").hidden = !isKey();
  }
  choose();
  return new Promise((resolve) => {
    const ends = new AbortController();
    const on = (target, event, call) => target.addEventListener(event, call, { signal: ends.signal });
    let isGiven = false;
    on(form, "change", choose);
    on(byId("sign-in-cancel"), "click", () => dialog.close());
    on(form, "submit", (event) => {
      event.preventDefault();
      const given = isKey()
        ? fields.key.value && `Bearer ${bytesOf(fields.key.value)}`
        : fields.user.value && `Basic ${base64(`${fields.user.value}:${fields.password.value}`)}`;
      if (!given) {
        byId("sign-in-error").textContent = isKey() ? "A key is missing." : "A name is missing.";
        return;
      }
      sessionStorage.setItem(KEPT, given);
      isGiven = true;
      dialog.close();
    });
    on(dialog, "close", () => {
      ends.abort();
      showState();
      resolve(isGiven);
    });
    dialog.showModal();
    (isKey() ? fields.key : fields.user.value ? fields.password : fields.user).focus();
  });
}

/** Return the UTF-8 bytes of a text, each as one character, as headers require. */
function bytesOf(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

const base64 = (text) => btoa(bytesOf(text));
