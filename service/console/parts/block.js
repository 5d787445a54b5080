// @ts-check
/** What the home page is made of: cards that load themselves, and rows with one action each. */
import { bullets, card, h, linkButton, pieces } from "../core/dom.js";
import { match } from "../core/router.js";
import { FRAME } from "../strings/frame.js";
import { trouble } from "./trouble.js";

/** @typedef {import("../core/dom.js").Child} Child */

/**
 * Fill a place with what comes later. Meanwhile it says that it is loading; if that fails, why, with the way to retry.
 * @param {Page} page
 * @param {() => Promise<Child>} make
 * @param {HTMLElement} [place]
 * @param {(made: (string | Node)[]) => void} [done] Called with what the place has then.
 */
export function filled(page, make, place = h("div"), done = () => {}) {
  const load = async () => {
    place.replaceChildren(h("p", { class: "loading", role: "status" }, FRAME.loading));
    let made;
    try {
      made = pieces([await make()]);
    } catch (problem) {
      if (page.signal.aborted) return;
      made = [trouble(problem, load)];
    }
    place.replaceChildren(...made);
    done(made);
  };
  page.during(load());
  return place;
}

/**
 * Return a card whose content comes later.
 * @param {Page} page
 * @param {string} title
 * @param {() => Promise<Child>} make
 * @param {{quiet?: boolean}} [options] `quiet`: it is hidden until there is something to show.
 */
export function block(page, title, make, { quiet = false } = {}) {
  const body = h("div", { class: "body" });
  const shown = card(title, body);
  shown.hidden = quiet;
  filled(page, make, body, (made) => {
    if (made.length > 0) shown.hidden = false;
  });
  return shown;
}

/**
 * @typedef {object} Row
 * @property {Child} [mark] Stands before it, such as a badge.
 * @property {Child} text
 * @property {Child} [help] Stands below it.
 * @property {Child} [act] The one action.
 */

/** Return rows. @param {Row[]} rows */
export function rows(rows) {
  return bullets(
    rows,
    ({ mark, text, help, act }) => [mark, h("div", null, text, help && h("small", null, help)), act],
    { class: "desk" },
  );
}

/**
 * Return the way to a view, null if the caller may not see it.
 * @param {Page} page @param {string} address @param {string} text
 */
export function way(page, address, text) {
  const view = match(address.split("?")[0])?.view;
  return view && (!view.operation || page.may(view.operation)) ? linkButton(address, text) : null;
}
