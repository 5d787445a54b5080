// @ts-check
/** What else can be done about a record, behind a button. */
import { h, icon, pieces } from "../core/dom.js";
import { ACTION } from "../strings/common.js";

/**
 * Return a button that unfolds other buttons and links; null if there are none. It folds up by `Esc`, after a choice,
 * and when the reader goes elsewhere. A choice gives the focus to the button first, for the dialogs that follow.
 * @param {...import("../core/dom.js").Child} acts
 */
export function more(...acts) {
  const offered = /** @type {HTMLElement[]} */ (pieces(acts));
  if (offered.length === 0) return null;
  for (const act of offered) act.classList.add("plain");
  const summary = h("summary", { class: "button" }, icon("more"), ACTION.moreActions);
  const element = h(
    "details",
    { class: "acts" },
    summary,
    h(
      "ul",
      null,
      offered.map((act) => h("li", null, act)),
    ),
  );
  const fold = () => {
    element.open = false;
    summary.focus();
  };
  const elsewhere = (/** @type {Event} */ event) => {
    if (!element.contains(/** @type {Node} */ (event.target))) element.open = false;
  };
  element.addEventListener(
    "click",
    ({ target }) => target !== summary && !summary.contains(/** @type {Node} */ (target)) && fold(),
    true,
  );
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    event.stopPropagation();
    fold();
  });
  element.addEventListener("toggle", () => {
    for (const event of ["pointerdown", "focusin"])
      document[element.open ? "addEventListener" : "removeEventListener"](event, elsewhere);
  });
  return element;
}
