/** The page: which of the three views is shown, by the address, and what all of them share. */

import { signOut, showState } from "./sign-in.js";
import { byId } from "./dom.js";
import { counted } from "./format.js";
import * as compare from "./compare.js";
import * as duplicates from "./duplicates.js";
import * as search from "./search.js";

const VIEWS = { search, compare, duplicates };
const TITLES = { search: "Search", compare: "Compare", duplicates: "Duplicates" };

function route() {
  const [name, parameters] = location.hash.slice(1).split("?", 2);
  if (name && !Object.hasOwn(VIEWS, name)) return; // #main: the way past the links
  const shown = name || "search";
  for (const view of Object.keys(VIEWS)) byId(`view-${view}`).hidden = view !== shown;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${TITLES[shown]} – whorl`;
  VIEWS[shown].show(new URLSearchParams(parameters ?? ""));
}

async function count() {
  try {
    const { documents } = await (await fetch("/readyz", { credentials: "omit", cache: "no-store" })).json();
    if (Number.isInteger(documents)) {
      byId("state").textContent = counted(documents, "document");
      byId("state").hidden = false;
    }
  } catch {
    // The number is a courtesy; the first question tells what is wrong.
  }
}

for (const view of Object.values(VIEWS)) view.start();
byId("sign-out").addEventListener("click", () => {
  signOut();
  location.reload();
});
addEventListener("hashchange", route);
showState();
route();
count();
