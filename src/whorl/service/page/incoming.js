/** Handles pastes and drops anywhere on the page: a text is searched for its sources, files can be added. */

import { byId } from "./dom.js";
import { addFiles } from "./adding.js";
import { textIn, within } from "./files.js";
import { about } from "./store.js";
import { showProblem } from "./problem.js";
import { keep } from "./texts.js";

/** Search for the sources of a text. */
export function findSources(text, name) {
  showProblem(byId("incoming-problem"), null);
  const wanted = `#sources?${new URLSearchParams({ text: keep(text, name) })}`;
  if (location.hash === wanted) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = wanted;
}

/** Search for the sources of a file. */
export async function findSourcesOf(file) {
  if (!file) return;
  const told = byId("incoming-told");
  showProblem(byId("incoming-problem"), null);
  told.textContent = `Reading ${file.name} …`;
  try {
    findSources(await textIn(file), file.name);
  } catch (error) {
    showProblem(byId("incoming-problem"), error);
  } finally {
    told.textContent = "";
  }
}

/** Listen for pastes and drops; call once. */
export function watchTexts() {
  addEventListener("paste", (event) => {
    if (event.target.closest?.("input, textarea, select, dialog")) return;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const [file] = event.clipboardData?.files ?? [];
    if (text.trim()) findSources(text, "");
    else findSourcesOf(file);
  });
  const veil = byId("dropping"), add = byId("drop-add");
  const holdsFile = (event) => event.dataTransfer?.types.includes("Files");
  let depth = 0;
  function end() {
    depth = 0;
    veil.hidden = true;
  }
  addEventListener("dragenter", async (event) => {
    if (!holdsFile(event)) return;
    depth += 1;
    veil.hidden = false;
    const { is_read_only: isReadOnly, documents } = await about().catch(() => ({ is_read_only: true, documents: 1 }));
    add.hidden = isReadOnly;
    byId("drop-sources").hidden = !documents && !isReadOnly;
  });
  addEventListener("dragleave", (event) => {
    if (!holdsFile(event)) return;
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  addEventListener("dragover", (event) => holdsFile(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    const isToAdd = event.target === add || add.contains(event.target);
    // Read both now: they are empty after this function has returned.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
    const files = [...event.dataTransfer.files];
    end();
    const { is_read_only: isReadOnly, documents } = await about().catch(() => ({ is_read_only: true, documents: 1 }));
    if (!isReadOnly && (isToAdd || !documents)) addFiles(entries.some((each) => each?.isDirectory) ? await within(entries) : files);
    else findSourcesOf(files[0]);
  });
}
