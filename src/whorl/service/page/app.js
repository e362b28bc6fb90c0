/** The page: shows the view of the address, and connects what all views share. */

import { FIRST, read } from "./address.js";
import { signOut, showState } from "./sign-in.js";
import { byId, debounce } from "./dom.js";
import { counted } from "./format.js";
import { watchTexts } from "./incoming.js";
import * as compare from "./compare.js";
import * as document_ from "./document.js";
import * as documents from "./documents.js";
import * as duplicates from "./duplicates.js";
import * as search from "./search.js";
import * as sources from "./sources.js";
import * as verify from "./verify.js";

/** The views by name: `start` connects a view, and `show` shows it for the parameters of its address. */
const VIEWS = { documents, document: document_, sources, verify, search, compare, duplicates };
const TITLES = {
  documents: "Documents", document: "Document", sources: "Sources", verify: "Quotations", search: "Search", compare: "Compare",
  duplicates: "Duplicates",
};
/** Milliseconds without scrolling after which the scroll position is saved. */
const PAUSE = 100;
let shown = null, going = 0, isLoading = false, counting = 0;

async function route() {
  const { view: name, parameters } = read();
  // Ignore an unknown view; on a new page, show the first view instead.
  if (!Object.hasOwn(VIEWS, name) && shown !== null) return;
  const view = Object.hasOwn(VIEWS, name) ? name : FIRST;
  const isOther = shown !== null && shown !== view, top = history.state?.top ?? 0;
  for (const each of Object.keys(VIEWS)) byId(`view-${each}`).hidden = each !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${view === "document" ? "documents" : view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[view]} – whorl`;
  shown = view;
  if (isOther) byId(`${view}-title`).focus({ preventScroll: true });
  going += 1;
  const own = going;
  isLoading = true;
  scrollTo(0, 0);
  await VIEWS[view].show(parameters);
  if (own !== going) return;
  // Restore the scroll position once the view is complete.
  if (top) requestAnimationFrame(() => scrollTo(0, top));
  isLoading = false;
}

function notePlace() {
  // While a view loads, the page is at its top. Do not save this position, unless the user has already scrolled.
  if (!isLoading || scrollY) history.replaceState({ ...history.state, top: Math.round(scrollY) }, "");
}

async function count() {
  counting += 1;
  const own = counting;
  try {
    const { documents: number } = await (await fetch("readyz", { credentials: "omit", cache: "no-store" })).json();
    // Ignore the response if a later request has been sent.
    if (Number.isInteger(number) && own === counting) {
      byId("state").textContent = counted(number, "document");
      byId("state").hidden = false;
    }
  } catch {
    // The page works without the number. If the service does not answer, the first search shows the error.
  }
}

history.scrollRestoration = "manual";
const later = debounce(PAUSE, notePlace);
addEventListener("scroll", later, { passive: true });
// The position of the view that the user leaves must not be saved with the next address.
addEventListener("popstate", later.cancel);
// Save the scroll position before a link is followed.
addEventListener("click", notePlace, { capture: true });
for (const view of Object.values(VIEWS)) view.start();
watchTexts();
byId("skip").addEventListener("click", (event) => {
  // Do not follow the link, because its target would replace the address of the view.
  event.preventDefault();
  byId("main").focus();
});
byId("sign-out").addEventListener("click", () => {
  signOut();
  location.reload();
});
addEventListener("hashchange", route);
addEventListener("whorl:changed", count);
showState();
route();
count();
