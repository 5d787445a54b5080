// @ts-check
/** A page without the frame: one card, for those who have not signed in. */
import { LONGEST_USER_NAME } from "../core/session.js";
import { h, mark, PRODUCT } from "../core/dom.js";

/**
 * Show the page alone, and put the focus into its first field.
 * @param {string} title
 * @param {string} about
 * @param {...any} nodes
 */
export function alone(title, about, ...nodes) {
  document.title = `${title} · ${PRODUCT}`;
  const heading = h("h1", { tabindex: "-1" }, title);
  const card = h(
    "div",
    { class: "card sign-in" },
    h("div", { class: "brand" }, mark(), PRODUCT),
    heading,
    h("p", { class: "help" }, about),
    ...nodes,
  );
  document.body.replaceChildren(
    h("main", { class: "alone" }, card),
    ...document.querySelectorAll("#messages"),
  );
  const first = /** @type {HTMLElement | null} */ (card.querySelector("input:not([hidden])"));
  (first ?? heading).focus();
}

/** Return the field of the name of an account that exists. @param {string} label @param {string} [value] */
export function userNameField(label, value) {
  return {
    name: "userName",
    label,
    required: true,
    value,
    most: LONGEST_USER_NAME,
    attributes: { autocomplete: "username", autocapitalize: "none", spellcheck: "false" },
  };
}
