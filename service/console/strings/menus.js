// @ts-check
/** The texts of menus. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/menus.json")} */ (await texts("menus"));

export const MENUS = saying(T.MENUS, {
  /** A Menu or a Button with its title, as texts name it. */
  named: (/** @type {{menuType: string, title: string}} */ { menuType, title }) =>
    say(T.MENUS.named, { type: /** @type {Record<string, string>} */ (T.MENUS.types)[menuType], title }),
  types: /** @type {Record<string, string>} */ (T.MENUS.types),
  disableTitle: (/** @type {string} */ name) => say(T.MENUS.disableTitle, { name }),
  enableTitle: (/** @type {string} */ name) => say(T.MENUS.enableTitle, { name }),
  disabled: (/** @type {string} */ name) => say(T.MENUS.disabled, { name }),
  enabled: (/** @type {string} */ name) => say(T.MENUS.enabled, { name }),
  deleteTitle: (/** @type {string} */ name) => say(T.MENUS.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.MENUS.deleted, { name }),
  made: (/** @type {string} */ name) => say(T.MENUS.made, { name }),
  saved: (/** @type {string} */ name) => say(T.MENUS.saved, { name }),
  saveTitle: (/** @type {string} */ name) => say(T.MENUS.saveTitle, { name }),
  editTitle: (/** @type {string} */ name) => say(T.MENUS.editTitle, { name }),
  moveTitle: (/** @type {string} */ name) => say(T.MENUS.moveTitle, { name }),
  behind: (/** @type {string} */ name) => say(T.MENUS.behind, { name }),
  moved: (/** @type {string} */ name) => say(T.MENUS.moved, { name }),
  coversCount: (/** @type {number} */ n) => say(T.MENUS.coversCount, { n }),
  unbindOne: (/** @type {string} */ name) => say(T.MENUS.unbindOne, { name }),
  bindTitle: (/** @type {string} */ name) => say(T.MENUS.bindTitle, { name }),
  bound: (/** @type {string} */ name) => say(T.MENUS.bound, { name }),
  unbindTitle: (/** @type {string} */ name) => say(T.MENUS.unbindTitle, { name }),
  unbound: (/** @type {string} */ name) => say(T.MENUS.unbound, { name }),
});
