// @ts-check
/** The texts of imports of tables. */
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/tables.json")} */ (await texts("tables"));

export const IMPORT = saying(T.IMPORT, {
  would: (/** @type {number} */ created, /** @type {number} */ updated, /** @type {number} */ unchanged) =>
    say(T.IMPORT.would, { created, updated, unchanged }),
  save: (/** @type {number} */ n) => say(T.IMPORT.save, { n }),
  saved: (/** @type {number} */ created, /** @type {number} */ updated) =>
    say(T.IMPORT.saved, { created, updated }),
  correct: (/** @type {number} */ line, /** @type {string} */ field) =>
    say(T.IMPORT.correct, { line, field }),
  meant: (/** @type {string} */ text) => say(T.IMPORT.meant, { text }),
  useAll: (/** @type {number} */ n) => say(T.IMPORT.useAll, { n }),
  badRows: (/** @type {number} */ n) => say(T.IMPORT.badRows, { n }),
  outcomes: /** @type {Record<string, string>} */ (T.IMPORT.outcomes),
  faults: (/** @type {number} */ n) => say(T.IMPORT.faults, { n }),
  more: (/** @type {number} */ n) => say(T.IMPORT.more, { n }),
});

export const OF_USERS = T.OF_USERS;

export const OF_ROLES = T.OF_ROLES;
