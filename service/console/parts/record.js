// @ts-check
/** What the pages of records have in common. */
import { h, link, pieces } from "../core/dom.js";
import { match } from "../core/router.js";
import { RECORD as T } from "../strings/common.js";
import { more } from "./more.js";
import { trouble } from "./trouble.js";

/** @typedef {import("../core/dom.js").Child} Child */

/**
 * @typedef {object} Tab
 * @property {string} path What its address has after that of the record; empty for the first tab.
 * @property {string} text
 * @property {() => Child | Promise<Child>} show Makes the content, once the tab is shown.
 */

/**
 * Show a record, and of its tabs that of the address. A tab is offered when the caller may see the view of its address.
 * @param {Page} page
 * @param {object} shown
 * @param {string} shown.base The address of the record, such as `/roles/3`.
 * @param {[string, string][]} shown.crumbs
 * @param {string} shown.title
 * @param {Child} [shown.state] Badges, for a state that is unusual.
 * @param {HTMLElement | null | false} [shown.primary] The act that readers need most.
 * @param {Child[]} [shown.acts] The others.
 * @param {Child} [shown.note]
 * @param {(Tab | false)[]} shown.tabs
 * @param {Child} [shown.aside] What stands beside each tab.
 * @param {Child} [shown.among] The records among which this one is, where there is room for them.
 */
export async function record(
  page,
  { base, crumbs, title, state, primary, acts = [], note, tabs, aside, among },
) {
  page.crumbs(...crumbs);
  page.title(title, primary, more(...acts));
  page.state.replaceChildren(...pieces([state]));
  const address = (/** @type {Tab} */ { path }) => (path ? `${base}/${path}` : base);
  const offered = tabs
    .filter((tab) => tab !== false)
    .filter((tab) => {
      const view = match(address(tab))?.view;
      return view && (!view.operation || page.may(view.operation));
    });
  const current = offered.find((tab) => address(tab) === page.path) ?? offered[0];
  const main = h("div", { class: "body" });
  try {
    main.append(...pieces([await current.show()]));
  } catch (problem) {
    if (page.signal.aborted) throw problem;
    main.append(trouble(problem, () => page.reload()));
  }
  const choice =
    offered.length > 1 &&
    h(
      "nav",
      { class: "tabs", "aria-label": T.tabs },
      offered.map((tab) => {
        const anchor = link(address(tab), tab.text);
        if (tab === current) anchor.setAttribute("aria-current", "page");
        return anchor;
      }),
    );
  if (among) {
    main.prepend(...pieces([note, choice]));
    page.put(h("div", { class: "record one-of" }, among, main));
  } else page.put(note, choice, h("div", { class: "record" }, main, h("div", { class: "body" }, aside)));
}
