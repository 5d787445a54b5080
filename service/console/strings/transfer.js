// @ts-check
/** The texts of imports and exports, in English. Functions take what varies. */
import { count } from "./words.js";

export const TRANSFER = {
  import: "Import",
  export: "Export",
  exportTitle: "Export as a file",
  exportText: "The file has all records, whatever the filters show. An import reads each of these formats.",
  limits: "Filters",
  noLimits: "None",
  rows: "Rows",
  columns: "Columns",
  template: "Download a template",
  templateHelp: "It has all that can be given, and an example to replace.",
  formats: /** @type {Record<string, string>} */ ({ csv: "CSV", json: "JSON", jsonl: "JSON Lines" }),
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
