/** Who asks: a key, or a user with a password, kept in this tab and nowhere else. */

import { byId } from "./dom.js";

const KEPT = "whorl.authorization";
let asking = null;

/** The Authorization header, or null where nobody has signed in. */
export const credentials = () => sessionStorage.getItem(KEPT);

/** Forget who asks, and the texts that they had. */
export function signOut() {
  sessionStorage.clear();
  showState();
}

/** Show the button that signs out where there is somebody to. */
export function showState() {
  byId("sign-out").hidden = credentials() === null;
}

/**
 * Ask for a key or a password; several requests wait for one answer.
 * @param {boolean} wasWrong Whether what was given before was refused.
 * @returns {Promise<boolean>} Whether there is something to try.
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

/** Return the bytes of a text in UTF-8, each as one character: headers take no others. */
function bytesOf(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

const base64 = (text) => btoa(bytesOf(text));
