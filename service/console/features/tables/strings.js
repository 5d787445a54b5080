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
  name: "Name",
  outcome: "Outcome",
  changes: "Changes",
  outcomes: /** @type {Record<string, string>} */ ({ created: "Created", updated: "Changed" }),
  faultsCaption: "What is wrong",
  field: "Field",
  fault: "Error",
  faults: (/** @type {number} */ n) => `Nothing was saved: ${count(n, "error", "errors")} to correct.`,
  more: (/** @type {number} */ n) => `The first ${n.toLocaleString()} are listed.`,
  again: "Correct the file, and choose it again.",
};

export const OF_USERS = {
  title: "Import users",
  text:
    "Users are found by name: known ones are changed, others created. " +
    "The file is checked first, and all rows are saved together or none. " +
    "A new person without a password is disabled.",
};

export const OF_ROLES = {
  title: "Import roles",
  text:
    "Roles are found by code: known ones are changed, others created. " +
    "The file is checked first, and all rows are saved together or none.",
};
