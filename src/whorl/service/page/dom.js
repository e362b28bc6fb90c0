/** Elements made of names and texts; text only ever becomes a text node. */

/**
 * Return a new element.
 * @param {string} name Its tag, with classes: "p.quiet".
 * @param {Object} [attributes] Attributes; on… are listeners, true stands for an empty value, and false, null and
 *   undefined are left out.
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

/** Return the element of an id. */
export const byId = (id) => document.getElementById(id);

/** Put children in the place of what is in an element. */
export const fill = (parent, ...children) => parent.replaceChildren(...children.filter((child) => child !== null));

/** Show each text as an item of a list of warnings. */
export const warn = (list, warnings) => fill(list, ...warnings.map((each) => element("li", {}, each)));

/** Call a function once it was not asked for in a while. */
export function settled(milliseconds, call) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(call, milliseconds);
  };
}

/** Show a slider's value beside it, and say what it is to who does not see it. */
export function showValue(slider, output) {
  output.textContent = `${slider.value} %`;
  slider.setAttribute("aria-valuetext", `${slider.value} percent`);
}

/** Offer what is left of a list, if anything is. */
export function offerMore(button, left) {
  button.hidden = left <= 0;
  button.textContent = `Show more (${left.toLocaleString("en")} left)`;
}

/**
 * Show a list some at a time.
 * @param {HTMLElement} list
 * @param {HTMLButtonElement} more Shows the next ones.
 * @param {number} step
 * @returns {function(Array, function): void} Shows items from the first on, each as what the function makes of it.
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
