/** The address, which holds what is shown: `#view?parameters`. */

/** What is shown where the address names nothing. */
export const FIRST = "documents";

/** Return the view that the address names, and its parameters. */
export function read() {
  const address = location.hash.slice(1), cut = address.indexOf("?");
  const name = cut < 0 ? address : address.slice(0, cut);
  return { view: name || FIRST, parameters: new URLSearchParams(cut < 0 ? "" : address.slice(cut + 1)) };
}

/** Note that the person at this tab asked for what the address says: so it is run again after Back or a reload. */
export function approve() {
  history.replaceState({ ...history.state, isApproved: true }, "");
}

/** Return whether they did. An address that comes from a link, a bookmark or another page has not been asked for. */
export function isApproved() {
  return history.state?.isApproved === true;
}

/**
 * Put another address of a view in the place of the present one.
 * @returns {boolean} Whether it is there: a view that was left meanwhile changes nothing.
 */
export function amend(view, address) {
  if (read().view !== view) return false;
  history.replaceState(history.state, "", address);
  return true;
}
