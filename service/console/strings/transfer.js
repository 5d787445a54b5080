// @ts-check
/** The texts of tables as files, in English: exports, and what leads to an import. */

export const TRANSFER = {
  import: "Import",
  export: "Export",
  exportTitle: "Export as a file",
  exportText: "The file contains all records, regardless of the filters. All formats can be imported.",
  limits: "Filters",
  noLimits: "None",
  rows: "Rows",
  columns: "Columns",
  template: "Download a template",
  templateHelp: "The template has all columns and an example row to replace.",
  formats: /** @type {Record<string, string>} */ ({ csv: "CSV", json: "JSON", jsonl: "JSON Lines" }),
};
