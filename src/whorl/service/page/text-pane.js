/**
 * Shows a text of any length with its shared passages marked. The text is split into blocks of lines. Blocks are
 * created a few at a time, and laid out only near the visible part (`content-visibility`).
 */

import { element } from "./dom.js";
import { firstIndex } from "./offsets.js";

/** A block ends at the first line end after `BLOCK` characters. Its maximum length is `LONGEST` characters. */
const BLOCK = 3_000, LONGEST = 9_000;
/** Milliseconds of work at a time, so that the page reacts to keys and scrolling. */
const STRETCH = 10;
/** Maximum number of blocks of a text that is laid out completely, including invisible blocks. */
const SHORT = 20;
const LINE_PIXELS = 23, LINE_CHARACTERS = 70;
const NONE = -1;

/** Pane with one of the two texts of a comparison. */
export class TextPane {
  /**
   * @param {HTMLElement} box Scrollable element for the text.
   * @param {function(number)} chosen Called with the number of the clicked passage.
   */
  constructor(box, chosen) {
    this.box = box;
    this.run = 0;
    this.movedTo = 0;
    box.addEventListener("click", (event) => {
      const mark = event.target.closest("mark");
      // Selecting words is not a click.
      if (mark?.dataset.passage && getSelection().isCollapsed) chosen(Number(mark.dataset.passage), mark);
    });
  }

  /**
   * Show a text.
   * @param {string} text
   * @param {Array<{start: number, end: number, group: ?number, kind: ?string, label: ?string}>} places Passages, in
   *   UTF-16 units; where several overlap, the first is marked. Passages of a group are chosen together. `kind` is a CSS
   *   class of the marks, and `label` is shown after a passage.
   * @param {Array<{start: number, end: number}>} [common] Common text. Within passages, it is marked paler.
   */
  show(text, places, common = []) {
    this.run += 1;
    this.text = text;
    this.places = places;
    this.painted = new Int32Array(text.length).fill(NONE);
    for (let at = places.length - 1; at >= 0; at -= 1) this.painted.fill(at, places[at].start, places[at].end);
    this.common = common.length ? new Uint8Array(text.length) : null;
    for (const { start, end } of common) this.common.fill(1, start, end);
    this.starts = blockStarts(text);
    this.blocks = this.starts.map((start, at) => this.#empty(start, this.starts[at + 1] ?? text.length));
    // Lay out a short text completely, so that it can be printed and searched from the start.
    this.box.classList.toggle("long", this.blocks.length > SHORT);
    this.box.replaceChildren(...this.blocks);
    this.box.scrollTop = 0;
    this.current = NONE;
    this.#fillSome(0, this.run);
  }

  /**
   * Divide the text into `steps` parts of equal length. Return for each part the share, 0 to 1, of characters that are in
   * passages and are not common text.
   */
  density(steps) {
    const shares = new Float64Array(steps), width = this.text.length / steps;
    for (let step = 0; step < steps; step += 1) {
      const from = Math.floor(step * width), to = Math.max(from + 1, Math.floor((step + 1) * width));
      let shared = 0;
      for (let at = from; at < to; at += 1) shared += this.painted[at] !== NONE && !this.common?.[at];
      shares[step] = shared / (to - from);
    }
    return shares;
  }

  /** Return the number of characters marked for each passage. */
  seen() {
    const counts = new Uint32Array(this.places.length);
    for (const passage of this.painted) if (passage !== NONE) counts[passage] += 1;
    return counts;
  }

  /** Highlight all passages of a group. If a passage has no group, its own number is the group. */
  choose(group) {
    this.current = group;
    // Ignore a scroll event that is still to come: it would move the other text away from the passage.
    this.movedTo = this.box.scrollTop;
    for (const mark of this.box.querySelectorAll("mark")) mark.classList.toggle("on", this.#groupOf(Number(mark.dataset.passage)) === group);
  }

  /**
   * Scroll to a position.
   * @param {number} place In UTF-16 units.
   * @param {number} [top] Pixels between the box's upper edge and the position; by default a third of the box.
   */
  scrollTo(place, top = this.box.clientHeight / 3) {
    const move = () => {
      this.box.scrollTop += this.heightOf(place) - top;
      this.movedTo = this.box.scrollTop;
    };
    move();
    // Correct the position: a block that becomes visible is laid out, and seldom has its estimated height.
    requestAnimationFrame(() => {
      move();
      requestAnimationFrame(move);
    });
  }

  /** Call a function when the user scrolls, but not when `scrollTo` does. */
  onScroll(scrolled) {
    this.box.addEventListener("scroll", () => {
      // If the user scrolls this text, the pointer or the focus is in it.
      if (Math.abs(this.box.scrollTop - this.movedTo) > 1 && this.box.matches(":hover, :focus")) scrolled();
    }, { passive: true });
  }

  /** Return the position, in UTF-16 units, of the first line that begins `height` pixels or more below the upper edge. */
  placeAt(height) {
    const top = this.box.getBoundingClientRect().top + height;
    const at = firstIndex(this.blocks.length, (index) => this.blocks[index].getBoundingClientRect().bottom > top);
    if (at === this.blocks.length) return this.text.length;
    const start = this.starts[at], end = this.starts[at + 1] ?? this.text.length;
    return start + firstIndex(end - start, (offset) => this.heightOf(start + offset) >= height);
  }

  /** Return the pixels between the box's upper edge and the line with a position. */
  heightOf(place) {
    const at = this.#blockOf(place), block = this.blocks[at], top = this.box.getBoundingClientRect().top;
    this.#fill(block);
    const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), line = document.createRange();
    let offset = place - this.starts[at], text = texts.nextNode();
    while (text && offset >= text.length) {
      offset -= text.length;
      text = texts.nextNode();
    }
    if (!text) return block.getBoundingClientRect().bottom - top;
    line.setStart(text, offset);
    line.setEnd(text, offset + 1);
    return (line.getClientRects()[0] ?? block.getBoundingClientRect()).top - top;
  }

  /** Scroll to a fraction of the text. */
  scrollToShare(share) {
    this.scrollTo(Math.min(this.text.length - 1, Math.floor(share * this.text.length)), 0);
  }

  #blockOf(place) {
    return firstIndex(this.starts.length, (at) => this.starts[at] > place) - 1;
  }

  #empty(start, end) {
    const block = element("div.block");
    let lines = 0;
    for (let at = start; at >= 0 && at < end; lines += 1) {
      const next = this.text.indexOf("\n", at);
      const stop = next < 0 || next >= end ? end : next + 1;
      lines += Math.floor((stop - at) / LINE_CHARACTERS);
      at = stop;
    }
    block.style.containIntrinsicBlockSize = `auto ${Math.max(1, lines) * LINE_PIXELS}px`;
    block.range = [start, end];
    return block;
  }

  #fillSome(at, run) {
    const until = performance.now() + STRETCH;
    do this.#fill(this.blocks[at++]); while (at < this.blocks.length && performance.now() < until);
    if (at < this.blocks.length) setTimeout(() => run === this.run && this.#fillSome(at, run));
  }

  #fill(block) {
    if (!block.range) return;
    const [start, end] = block.range, { painted, common } = this, made = [];
    for (let from = start; from < end;) {
      const passage = painted[from];
      let to = from + 1;
      while (to < end && painted[to] === passage && common?.[to] === common?.[from]) to += 1;
      made.push(passage === NONE ? this.text.slice(from, to) : this.#mark(from, to, passage));
      from = to;
    }
    block.append(...made);
    block.range = null;
  }

  #mark(from, to, passage) {
    const kind = this.common?.[from] ? "common" : this.places[passage].kind;
    const label = this.painted[to] === passage ? null : this.places[passage].label;
    const marked = element(
      kind ? `mark.${kind}` : "mark", { "data-passage": passage, "data-start": from, "data-label": label }, this.text.slice(from, to),
    );
    if (this.#groupOf(passage) === this.current) marked.classList.add("on");
    return marked;
  }

  #groupOf(passage) {
    return this.places[passage].group ?? passage;
  }
}

/** Return the start of each block: a line's beginning, or a blank in a very long line. */
function blockStarts(text) {
  const starts = [0];
  for (let start = 0; start + BLOCK < text.length;) {
    // The last line need not end with a line feed.
    let end = text.indexOf("\n", start + BLOCK) + 1 || text.length;
    if (end - start > LONGEST) {
      end = text.lastIndexOf(" ", start + LONGEST) + 1;
      if (end <= start + BLOCK) end = start + LONGEST;
      // Do not split a surrogate pair.
      if (/[\udc00-\udfff]/.test(text[end] ?? "")) end -= 1;
    }
    if (end >= text.length) break;
    starts.push(end);
    start = end;
  }
  return starts;
}
