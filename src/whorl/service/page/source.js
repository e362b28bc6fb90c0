/** A text of one's own: pasted, or read from a file that is chosen or dropped. It is in no store and stays in this tab. */

import { ask } from "./api.js";
import { byId, settled } from "./dom.js";
import { counted } from "./format.js";

/** Characters that the box shows of a longer text: a megabyte in it would hold up every key. */
const SHOWN = 20_000;
const MOST_BYTES = 40_000_000;
const PAUSE = 400;

/** `text` is null where there is none; `name` is its file's. */
export const own = { text: null, name: "" };

/**
 * Watch for texts.
 * @param {function} changed Called when there is another one.
 * @param {function(Error)} failed Called with what is wrong with a file.
 */
export function watchSource(changed, failed) {
  const box = byId("source"), chosen = byId("file");

  function set(text, name) {
    own.text = text || null;
    own.name = name;
    const isLong = text.length > SHOWN;
    box.value = isLong ? text.slice(0, SHOWN) : text;
    box.readOnly = isLong;
    tell(isLong);
    changed();
  }

  function tell(isLong) {
    byId("forget").hidden = own.text === null;
    const size = own.text === null ? "" : `${own.name ? `${own.name}, ` : ""}${counted(own.text.length, "character")}`;
    byId("source-told").textContent = size + (isLong ? ", the beginning shown" : "");
  }

  const pasted = settled(PAUSE, () => changed());
  box.addEventListener("input", () => {
    own.text = box.value.trim() ? box.value : null;
    own.name = "";
    tell(false);
    pasted();
  });
  box.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length > SHOWN) {
      event.preventDefault();
      set(text, "");
    }
  });
  byId("forget").addEventListener("click", () => {
    set("", "");
    box.focus();
  });

  async function take(file) {
    if (!file) return;
    try {
      if (file.size > MOST_BYTES) throw new Error(`${file.name} has more than ${MOST_BYTES / 1e6} MB`);
      byId("source-told").textContent = `Reading ${file.name} …`;
      const { text } = await ask("/api/text", { name: file.name, content: await asBase64(file) });
      if (!text.trim()) throw new Error(`${file.name} holds no text`);
      set(text, file.name);
    } catch (error) {
      tell(false);
      failed(error);
    }
  }

  chosen.addEventListener("change", () => {
    take(chosen.files[0]);
    // So that the same file can be chosen again.
    chosen.value = "";
  });
  watchDrops(take);
}

function watchDrops(take) {
  const veil = byId("dropping");
  const holdsFile = (event) => event.dataTransfer?.types.includes("Files");
  let depth = 0;
  addEventListener("dragenter", (event) => {
    if (!holdsFile(event)) return;
    depth += 1;
    veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    if (!holdsFile(event)) return;
    depth = Math.max(0, depth - 1);
    veil.hidden = depth === 0;
  });
  addEventListener("dragover", (event) => holdsFile(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    depth = 0;
    veil.hidden = true;
    location.hash.startsWith("#search") || (location.hash = "#search");
    take(event.dataTransfer.files[0]);
  });
}

function asBase64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}
