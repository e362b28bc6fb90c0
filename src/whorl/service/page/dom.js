/** Creates and updates elements, and reacts to input. A text always becomes a text node, never HTML. */

/**
 * Return a new element.
 * @param {string} name Tag with classes: "p.quiet".
 * @param {Object} [attributes] Attributes. Names with on… add listeners; true is an empty value; false, null and
 *   undefined are omitted.
 * @param {...(Node|string|number|null)} children
 */
export function element(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Return the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Replace the children of an element. */
export const fill = (parent, ...children) => parent.replaceChildren(...children.filter((child) => child !== null));

/** Show the warnings as items of a list. `links` maps a warning to the link that follows it. */
export const warn = (list, warnings, links = new Map()) => (
  fill(list, ...warnings.map((warning) => element("li", {}, warning, links.has(warning) ? " " : null, links.get(warning))))
);

/** Debounce a function: call it after a pause without calls. The result's `cancel` drops a pending call. */
export function debounce(milliseconds, call) {
  let waiting = 0;
  const cancel = () => clearTimeout(waiting);
  return Object.assign(() => {
    cancel();
    waiting = setTimeout(call, milliseconds);
  }, { cancel });
}

/** Cancel the requests of a controller, if any, and return a new controller. */
export function renew(controller) {
  controller?.abort();
  return new AbortController();
}

/** Call a function with the files that the user chooses; the same file can be chosen again. */
export function onFiles(input, call) {
  input.addEventListener("change", () => {
    call([...input.files]);
    input.value = "";
  });
}

/** Show a slider's value next to it, and in words for screen readers. */
export function showValue(slider, output) {
  output.textContent = `${slider.value} %`;
  slider.setAttribute("aria-valuetext", `${slider.value} percent`);
}

/** Return the value that a field has in the HTML; for a list, that of its first choice. */
export const defaultOf = (field) => field.defaultValue ?? field.options[0].value;

/** Show the button for the remaining items of a list, if any. */
export function offerMore(button, left) {
  button.hidden = left <= 0;
  button.textContent = `Show more (${left.toLocaleString("en")} left)`;
}

/**
 * Show a list in steps.
 * @param {HTMLElement} list
 * @param {HTMLButtonElement} more Button that shows the next items.
 * @param {number} step
 * @returns {function(Array, function): void} Shows a new list. Its second argument returns the element for an item.
 */
export function inSteps(list, more, step) {
  let items = [], make = null, shown = 0;
  function next(focus) {
    const some = items.slice(shown, shown + step).map((item, at) => make(item, shown + at));
    list.append(...some);
    shown += some.length;
    offerMore(more, items.length - shown);
    if (focus) some[0]?.querySelector("a, button, [tabindex]")?.focus();
  }
  more.addEventListener("click", () => next(true));
  return (newItems, newMake) => {
    [items, make, shown] = [newItems, newMake, 0];
    list.replaceChildren();
    next(false);
  };
}
