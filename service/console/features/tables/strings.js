// @ts-check
/** The texts of imports of tables, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

export const IMPORT = {
  file: "A file: CSV, JSON or JSON Lines, with at most 1,000 rows",
  trying: "Checking the file. Nothing is saved yet.",
  would: (/** @type {number} */ created, /** @type {number} */ updated, /** @type {number} */ unchanged) =>
    `All rows are in order: ${created.toLocaleString()} to create, ${updated.toLocaleString()} to change, ` +
    `${unchanged.toLocaleString()} unchanged. Nothing is saved yet.`,
  save: (/** @type {number} */ n) => `Save ${count(n, "row", "rows")}`,
  saved: (/** @type {number} */ created, /** @type {number} */ updated) =>
    `${count(created, "record was", "records were")} created, ${updated.toLocaleString()} changed.`,
  rowsCaption: "What would be saved",
  row: "Row",
  line: "Line",
  value: "Value",
  correct: (/** @type {number} */ line, /** @type {string} */ field) => `Line ${line}, ${field}`,
  meant: (/** @type {string} */ text) => `Did you mean ${text}?`,
  useAll: (/** @type {number} */ n) => `Use ${count(n, "suggestion", "suggestions")} and check again`,
  here: "Correct the values here, or in a file with only these rows.",
  check: "Check again",
  badRows: (/** @type {number} */ n) => `Download ${count(n, "row", "rows")} to correct`,
  name: "Name",
  outcome: "Outcome",
  changes: "Changes",
  outcomes: /** @type {Record<string, string>} */ ({ created: "Created", updated: "Changed" }),
  faultsCaption: "Errors",
  field: "Field",
  fault: "Error",
  faults: (/** @type {number} */ n) => `Nothing was saved. The file has ${count(n, "error", "errors")}.`,
  more: (/** @type {number} */ n) => `The first ${n.toLocaleString()} are listed.`,
  again: "Correct the file and choose it again.",
};

export const OF_USERS = {
  title: "Import users",
  text:
    "Users are matched by name: existing users are changed, others are created. All rows are checked " +
    "first, then saved together, or none is saved. A new person without a password is disabled.",
};

export const OF_ROLES = {
  title: "Import roles",
  text:
    "Roles are matched by code: existing roles are changed, others are created. All rows are checked " +
    "first, then saved together, or none is saved.",
};
