/** Handles pastes and drops anywhere on the page: texts for sources, quotations or a comparison, and files to add. */

import { byId, element, fill, onFiles } from "./dom.js";
import { addFiles } from "./adding.js";
import { freeSide, takeFile, takeText } from "./compare.js";
import { markedTextIn, withName, within } from "./files.js";
import { about } from "./store.js";
import { showProblem } from "./problem.js";
import { keep } from "./texts.js";

/** Return the view that receives a text that is pasted anywhere on the page. */
const viewOfTexts = () => (byId("view-verify").hidden ? "sources" : "verify");

/** Search for the sources of a text, or check its quotations. */
function takeOwn(text, name, view = viewOfTexts(), markup = text) {
  showProblem(byId("incoming-problem"), null);
  const wanted = `#${view}?${new URLSearchParams({ text: keep(text, name, markup) })}`;
  if (location.hash === wanted) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = wanted;
}

/** Search for the sources of a file, or check its quotations. */
async function takeOwnFile(file, view = viewOfTexts()) {
  if (!file) return;
  const status = byId("incoming-told");
  showProblem(byId("incoming-problem"), null);
  status.textContent = `Reading ${file.name} …`;
  try {
    const { text, markup } = await markedTextIn(file);
    takeOwn(text, file.name, view, markup);
  } catch (error) {
    showProblem(byId("incoming-problem"), withName(error, file.name));
  } finally {
    status.textContent = "";
  }
}

/**
 * Fill and connect a form for the user's own text, which is pasted, typed or in a file; call once.
 * @param {string} id Id of the form.
 * @param {string} view View that takes the text.
 * @param {{label: string, rows: number, placeholder: string, button: string, documents: string}} [words] Labels of the
 *   form, by default those of the view of sources, and the number of lines of its text box.
 */
export function connectOwn(id, view, {
  label = "Your text", rows = 6, placeholder = "Paste a text, or drop a file anywhere on this page",
  button = "Find its sources", documents = "the documents of the store",
} = {}) {
  fill(
    byId(id),
    element("label", { for: `${id}-text` }, label),
    element("textarea", { id: `${id}-text`, rows, spellcheck: "false", placeholder }),
    element(
      "div.row", {},
      element("button.primary", { type: "submit" }, button),
      element("label.button", { for: `${id}-file` }, "Choose a file"),
      element("input.unseen", { id: `${id}-file`, type: "file" }),
      element("span.quiet", {}, `It is compared with ${documents}, and not stored.`),
    ),
  );
  const box = byId(`${id}-text`);
  box.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (!text.trim() || box.value) return;
    event.preventDefault();
    takeOwn(text, "", view);
  });
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim()) {
      takeOwn(box.value, "", view);
      return;
    }
    showProblem(byId("incoming-problem"), new Error("Type or paste a text first, or choose a file."));
    box.focus();
  });
  onFiles(byId(`${id}-file`), ([file]) => takeOwnFile(file, view));
}

/** Listen for pastes and drops; call once. */
export function watchTexts() {
  addEventListener("paste", (event) => {
    if (event.target.closest?.("input, textarea, select, dialog")) return;
    const text = event.clipboardData?.getData("text/plain") ?? "";
    const [file] = event.clipboardData?.files ?? [];
    const isComparing = !byId("view-compare").hidden;
    if (text.trim()) isComparing ? takeText(freeSide(), text, "") : takeOwn(text, "");
    else if (isComparing) takeFile(freeSide(), file);
    else takeOwnFile(file);
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
    const isComparing = !byId("view-compare").hidden;
    for (const side of ["a", "b"]) byId(`drop-${side}`).hidden = !isComparing;
    add.hidden = isReadOnly || isComparing;
    byId("drop-sources").hidden = isComparing || (!documents && !isReadOnly);
    byId("drop-sources").textContent = viewOfTexts() === "verify" ? "Drop the file to check its quotations"
      : "Drop the file to find where its text comes from";
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
    const isComparing = !byId("view-compare").hidden;
    const side = ["a", "b"].find((each) => event.target === byId(`drop-${each}`)) ?? freeSide();
    // Read both now, because they are empty after this function has returned.
    const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
    const files = [...event.dataTransfer.files];
    end();
    if (isComparing) {
      await takeFile(side, files[0]);
      if (files.length > 1) await takeFile(side === "a" ? "b" : "a", files[1]);
      return;
    }
    const { is_read_only: isReadOnly, documents } = await about().catch(() => ({ is_read_only: true, documents: 1 }));
    if (!isReadOnly && (isToAdd || !documents)) addFiles(entries.some((each) => each?.isDirectory) ? await within(entries) : files);
    else takeOwnFile(files[0]);
  });
}
