// @ts-check
/** Rows that lead where their name does. */

/** What has a purpose of its own in a row. */
const OWN = "a, button, input, select, textarea, label, summary, .box, .row-actions";

/**
 * Follow the link in the name of a row at a click anywhere on the row; in a new tab where a link would open one. The
 * link stays the only one for the keyboard and for screen readers.
 * @template {HTMLElement} T
 * @param {T} body Holds the rows.
 * @returns {T}
 */
export function leading(body) {
  /** @param {MouseEvent} event */
  const follow = (event) => {
    const { target } = event;
    if (!(target instanceof Element) || target.closest(OWN)) return;
    const anchor = target.closest("tr")?.querySelector(":scope > th > a");
    if (!(anchor instanceof HTMLAnchorElement) || getSelection()?.type === "Range") return;
    if (event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey)
      open(anchor.href, "_blank", "noopener");
    else anchor.click();
  };
  body.addEventListener("click", follow);
  body.addEventListener("auxclick", (event) => {
    if (event.button === 1) follow(event);
  });
  return body;
}
