// @ts-check
/** Menus behind a button: what else can be done about a record, or how a list is shown. */
import { h, icon, pieces } from "../core/dom.js";
import { ACTION } from "../strings/common.js";

/** @typedef {import("../core/dom.js").Child} Child */

/** Return a button that unfolds other buttons and links; null if there are none. @param {...Child} acts */
export function more(...acts) {
  const offered = pieces(acts);
  return offered.length === 0 ? null : menu(ACTION.moreActions, "more", () => offered, true);
}

/**
 * Return a button that unfolds buttons, links and boxes, made anew each time. It folds up by `Esc`, after a choice of a
 * button or a link, and when the reader goes elsewhere. A choice gives the focus to the button first, for the dialogs
 * that follow.
 * @param {string} text
 * @param {string} shown The name of the icon.
 * @param {() => Child[]} offer
 * @param {boolean} [stays] Whether they stay on the page while it is folded.
 */
export function menu(text, shown, offer, stays = false) {
  const summary = h("summary", { class: "button" }, icon(shown), text);
  const list = h("ul");
  const element = h("details", { class: "acts" }, summary, list);
  const fold = () => {
    element.open = false;
    summary.focus();
  };
  const elsewhere = (/** @type {Event} */ event) => {
    if (!element.contains(/** @type {Node} */ (event.target))) element.open = false;
  };
  const fill = () => {
    const acts = /** @type {HTMLElement[]} */ (pieces(offer()));
    for (const act of acts) if (act.matches("a, button")) act.classList.add("plain");
    list.replaceChildren(...acts.map((act) => h("li", null, act)));
  };
  list.addEventListener(
    "click",
    ({ target }) => /** @type {Element} */ (target).closest("a, button") && fold(),
    true,
  );
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.stopPropagation();
    fold();
  });
  // The browser reports that the menu is open only after the act that opened it, when the reader may be in it already.
  summary.addEventListener("click", () => {
    if (!element.open && !stays) fill();
  });
  element.addEventListener("toggle", () => {
    if (element.open && !list.hasChildNodes()) fill();
    if (!element.open && !stays) list.replaceChildren();
    for (const event of ["pointerdown", "focusin"])
      document[element.open ? "addEventListener" : "removeEventListener"](event, elsewhere);
  });
  if (stays) fill();
  return element;
}
