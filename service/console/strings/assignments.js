// @ts-check
/** The texts of the roles of users as assignments. */
import { say, saying, texts } from "../core/texts.js";
import { duration } from "./words.js";

const T = /** @type {import("../texts/en/assignments.json")} */ (await texts("assignments"));

export const ASSIGNMENTS = saying(T.ASSIGNMENTS, {
  sources: /** @type {Record<string, string>} */ (T.ASSIGNMENTS.sources),
  how: /** @type {Record<string, string>} */ (T.ASSIGNMENTS.how),
  maxDuration: (/** @type {number} */ seconds) =>
    say(T.ASSIGNMENTS.maxDuration, { duration: duration(seconds) }),
  assignTitle: (/** @type {string} */ user) => say(T.ASSIGNMENTS.assignTitle, { user }),
  confirmTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.ASSIGNMENTS.confirmTitle, { role, user }),
  assigned: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.ASSIGNMENTS.assigned, { user, role }),
  changeOne: (/** @type {string} */ role) => say(T.ASSIGNMENTS.changeOne, { role }),
  changeTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.ASSIGNMENTS.changeTitle, { role, user }),
  saveTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.ASSIGNMENTS.saveTitle, { role, user }),
  subject: (/** @type {string} */ role) => say(T.ASSIGNMENTS.subject, { role }),
  changed: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.ASSIGNMENTS.changed, { role, user }),
  endOne: (/** @type {string} */ role) => say(T.ASSIGNMENTS.endOne, { role }),
  endTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.ASSIGNMENTS.endTitle, { role, user }),
  ended: (/** @type {string} */ role, /** @type {string} */ user) => say(T.ASSIGNMENTS.ended, { role, user }),
  by: (/** @type {string} */ name) => say(T.ASSIGNMENTS.by, { name }),
});
