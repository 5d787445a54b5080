// @ts-check
/** The texts of tables as files, in English: exports, and what leads to an import. */

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
};
