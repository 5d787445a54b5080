// @ts-check
/** The texts of directories and what they hand out. */
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/directories.json")} */ (await texts("directories"));

export const DIRECTORIES = saying(T.DIRECTORIES, {
  bare: (/** @type {string} */ title) => say(T.DIRECTORIES.bare, { title }),
  set: (/** @type {string} */ name) => say(T.DIRECTORIES.set, { name }),
  kinds: /** @type {Record<string, string>} */ (T.DIRECTORIES.kinds),
  groups: (/** @type {number} */ n) => say(T.DIRECTORIES.groups, { n }),
  groupAt: (/** @type {number} */ place) => say(T.DIRECTORIES.groupAt, { place }),
  rolesAt: (/** @type {number} */ place) => say(T.DIRECTORIES.rolesAt, { place }),
  removeGroup: (/** @type {number} */ place) => say(T.DIRECTORIES.removeGroup, { place }),
  codes: (/** @type {number} */ n) => say(T.DIRECTORIES.codes, { n }),
  subject: (/** @type {string | null} */ name) => say(T.DIRECTORIES.subject, { name }),
  editTitle: (/** @type {string} */ name) => say(T.DIRECTORIES.editTitle, { name }),
  saveTitle: (/** @type {string} */ name) => say(T.DIRECTORIES.saveTitle, { name }),
  saved: (/** @type {string} */ name) => say(T.DIRECTORIES.saved, { name }),
  at: (/** @type {string} */ group, /** @type {string} */ role) => say(T.DIRECTORIES.at, { group, role }),
  enableTitle: (/** @type {string} */ name) => say(T.DIRECTORIES.enableTitle, { name }),
  disableTitle: (/** @type {string} */ name) => say(T.DIRECTORIES.disableTitle, { name }),
  enabled: (/** @type {string} */ name) => say(T.DIRECTORIES.enabled, { name }),
  disabled: (/** @type {string} */ name) => say(T.DIRECTORIES.disabled, { name }),
  deleteTitle: (/** @type {string} */ name) => say(T.DIRECTORIES.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.DIRECTORIES.deleted, { name }),
});
