/** The page's address, which contains the view and its parameters: `#view?parameters`. */

/** The view for an address without a view. */
export const FIRST = "documents";

/** Return the view and the parameters of the address. */
export function read() {
  const address = location.hash.slice(1), cut = address.indexOf("?");
  const name = cut < 0 ? address : address.slice(0, cut);
  return { view: name || FIRST, parameters: new URLSearchParams(cut < 0 ? "" : address.slice(cut + 1)) };
}

/** Record that the user of this tab started the job of this address, so that Back and a reload run it again. */
export function approve() {
  history.replaceState({ ...history.state, isApproved: true }, "");
}

/** Check that the user of this tab started the job of this address, and did not follow a link to it. */
export function isApproved() {
  return history.state?.isApproved === true;
}

/**
 * Replace the current address of a view.
 * @returns {boolean} Whether it was replaced; false if the user has left the view.
 */
export function amend(view, address) {
  if (read().view !== view) return false;
  history.replaceState(history.state, "", address);
  return true;
}
