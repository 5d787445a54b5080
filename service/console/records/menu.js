// @ts-check
/** Menus and Buttons, as forms have them. */
import { h } from "../core/dom.js";
import { compare } from "../core/locale.js";
import { pathOf } from "../parts/menus.js";
import { MENUS as T } from "../strings/menus.js";

/** @typedef {import("../parts/declared.js").Shown} Shown */

/** Fields of Menus alone, which Buttons do not have. */
const OF_MENUS = { when: (/** @type {Shown} */ { record }) => record.menuType === "Menu" };

/** @type {import("../parts/declared.js").Kind} */
export const MENU = {
  api: "/api/menu",
  view: "/menus",
  name: "title",
  texts: T,
  nameOf: T.named,
  fields: {
    parentId: { label: T.below, type: "select", unset: T.top, make: above },
    title: { label: T.titleField, required: true, most: 128 },
    authMark: {
      label: T.code,
      required: true,
      most: 128,
      code: true,
      help: T.codeHelp,
      rights: true,
      when: ({ record }) => record.menuType === "Button",
    },
    name: { label: T.name, help: T.nameHelp, ...OF_MENUS },
    path: { label: T.path, help: T.pathHelp, ...OF_MENUS },
    component: { label: T.component, help: T.componentHelp, ...OF_MENUS },
    icon: { label: T.icon, ...OF_MENUS },
    badge: { label: T.badge, help: T.badgeHelp, most: 32, ...OF_MENUS },
    redirect: { label: T.redirect, help: T.redirectHelp, ...OF_MENUS },
    link: { label: T.link, help: T.linkHelp, ...OF_MENUS },
    sort: { label: T.sort, type: "number", required: true, initial: 0, help: T.sortHelp },
    enabled: { label: T.enabledState, type: "check", initial: true, rights: true },
    hidden: { label: T.hidden, type: "check", help: T.hiddenHelp, ...OF_MENUS },
    keepAlive: { label: T.keepAlive, type: "check", help: T.keepAliveHelp, ...OF_MENUS },
    meta: { label: T.meta, help: T.metaHelp(), ...jsonObject("meta"), ...OF_MENUS },
    titles: { label: T.titles, help: T.titlesHelp(), ...jsonObject("titles") },
  },
  form: [
    ...["parentId", "title", "authMark", "name", "path", "component", "icon", "badge", "redirect", "link"],
    ...["sort", "enabled", "hidden", "keepAlive", "titles", "meta"],
  ],
};

/** Return the Menus that may be above a record, with their paths. @param {any} _ @param {Shown} shown */
function above(_, { known, record }) {
  const targets = known.targets(known.places.get(record.id) ?? null);
  const options = targets.map(
    (/** @type {import("../parts/menus.js").Place} */ place) =>
      /** @type {[any, string]} */ ([place.menu.id, pathOf(place).join(" › ")]),
  );
  return {
    options: options.sort((/** @type {any} */ a, /** @type {any} */ b) => compare(a[1], b[1])),
  };
}

/** Return the parts of a field for a JSON object. @param {string} name */
function jsonObject(name) {
  return {
    make: (/** @type {any} */ value) => ({ control: json(name, value) }),
    check: (/** @type {any} */ value) =>
      typeof value !== "object" || Array.isArray(value) ? T.metaFault : null,
    worded: (/** @type {any} */ value) => (value ? JSON.stringify(value) : undefined),
  };
}

/**
 * Return a control for a JSON value; a text that is no JSON is its own value, for `check` to refuse.
 * @param {string} name
 * @param {any} value
 */
function json(name, value) {
  const area = h("textarea", { name, rows: "4", spellcheck: "false" });
  const set = (/** @type {any} */ given) => {
    area.value = given ? JSON.stringify(given, null, 2) : "";
  };
  const get = () => {
    if (!area.value.trim()) return null;
    try {
      return JSON.parse(area.value);
    } catch {
      return area.value;
    }
  };
  set(value);
  return { element: area, get, set };
}
