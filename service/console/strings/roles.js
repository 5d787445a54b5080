// @ts-check
/** The texts of roles and their permissions. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/roles.json")} */ (await texts("roles"));

export const ROLES = saying(T.ROLES, {
  number: (/** @type {number} */ n) => say(T.ROLES.number, { n }),
  userCount: (/** @type {number} */ n) => say(T.ROLES.userCount, { n }),
  removeOne: (/** @type {string} */ user) => say(T.ROLES.removeOne, { user }),
  addTitle: (/** @type {string} */ user, /** @type {string} */ role) => say(T.ROLES.addTitle, { role, user }),
  removeTitle: (/** @type {string} */ user, /** @type {string} */ role) =>
    say(T.ROLES.removeTitle, { role, user }),
  addedMember: (/** @type {string} */ user, /** @type {string} */ role) =>
    say(T.ROLES.addedMember, { user, role }),
  removedMember: (/** @type {string} */ user, /** @type {string} */ role) =>
    say(T.ROLES.removedMember, { user, role }),
  disableTitle: (/** @type {string} */ name) => say(T.ROLES.disableTitle, { name }),
  enableTitle: (/** @type {string} */ name) => say(T.ROLES.enableTitle, { name }),
  disabled: (/** @type {string} */ name) => say(T.ROLES.disabled, { name }),
  enabled: (/** @type {string} */ name) => say(T.ROLES.enabled, { name }),
  deleteTitle: (/** @type {string} */ name) => say(T.ROLES.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.ROLES.deleted, { name }),
  subject: (/** @type {string | null} */ name) => say(T.ROLES.subject, { name }),
  copyTitle: (/** @type {string} */ name) => say(T.ROLES.copyTitle, { name }),
  copyOf: (/** @type {string} */ name) => say(T.ROLES.copyOf, { name }),
  copyText: (/** @type {number} */ n) => say(T.ROLES.copyText, { n }),
  made: (/** @type {string} */ name) => say(T.ROLES.made, { name }),
  saved: (/** @type {string} */ name) => say(T.ROLES.saved, { name }),
  editTitle: (/** @type {string} */ name) => say(T.ROLES.editTitle, { name }),
});

export const PERMISSIONS = saying(T.PERMISSIONS, {
  covers: (/** @type {number} */ n) => say(T.PERMISSIONS.covers, { n }),
  coveredBy: (/** @type {string} */ code) => say(T.PERMISSIONS.coveredBy, { code }),
  summary: (/** @type {number} */ n) => say(T.PERMISSIONS.summary, { n }),
  saveTitle: (/** @type {string} */ name) => say(T.PERMISSIONS.saveTitle, { name }),
  saved: (/** @type {string} */ name) => say(T.PERMISSIONS.saved, { name }),
});
