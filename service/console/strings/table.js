// @ts-check
/** The texts of tables, in English. Functions take what varies. */
import { count } from "./words.js";

export const TABLE = {
  select: (/** @type {string} */ name) => `Select ${name}`,
  selectPage: "Select all on this page",
  selectAll: (/** @type {number} */ all, /** @type {number} */ most) =>
    all > most
      ? `Select the first ${most.toLocaleString()} of ${all.toLocaleString()}`
      : `Select all ${all.toLocaleString()} that match`,
  view: "View",
  dense: "Compact rows",
  keep: "Save these filters",
  keepName: "Name",
  keptAs: (/** @type {string} */ name) => `The filters were saved as ${name}, under View.`,
  forget: (/** @type {string} */ name) => `Delete the saved filters ${name}`,
  share: "Copy the link to this list",
  cutFile: (/** @type {number} */ n) =>
    `The file has the first ${n.toLocaleString()} rows. Filter for others.`,
  filters: "Filters",
  more: "More filters",
  all: "All",
  yes: "Yes",
  no: "No",
  none: "Nothing here yet.",
  noMatch: "Nothing matches these filters.",
  moreMatch: (/** @type {number} */ n) => `${n.toLocaleString()} matches. Keep typing to narrow them down.`,
  range: (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ total) =>
    `${from.toLocaleString()}–${to.toLocaleString()} of ${total}`,
  atLeast: (/** @type {number} */ total) => `more than ${total.toLocaleString()}`,
  pages: "Pages",
  first: "First page",
  size: "Rows",
  sortBy: (/** @type {string} */ title) => `Sort by ${title}`,
  rows: (/** @type {number} */ n) => count(n, "row", "rows"),
  selected: (/** @type {number} */ n) => `${n.toLocaleString()} selected`,
  actions: "Actions",
};

export const SELECTION = {
  records: "Selected records",
  enable: "Enable",
  disable: "Disable",
  enableTitle: (/** @type {string} */ records) => `Enable ${records}?`,
  disableTitle: (/** @type {string} */ records) => `Disable ${records}?`,
  counts: (/** @type {string} */ changed, /** @type {number} */ unchanged) =>
    `${changed} to change, ${unchanged.toLocaleString()} already in this state.`,
  enabled: (/** @type {string} */ records) => `Enabled ${records}.`,
  disabled: (/** @type {string} */ records) => `Disabled ${records}.`,
  inBatches: (/** @type {number} */ most) =>
    `Saved in batches of ${most}. A refused batch stops the act; batches saved before it stay saved.`,
  range: (/** @type {number} */ from, /** @type {number} */ to) =>
    `${from.toLocaleString()}–${to.toLocaleString()}`,
  batch: (/** @type {number} */ changed, /** @type {number} */ unchanged) =>
    `${changed.toLocaleString()} changed, ${unchanged.toLocaleString()} already in this state`,
  refused: "refused, nothing changed",
  waits: "not started",
  progress: (/** @type {number} */ saved, /** @type {number} */ all) =>
    `${saved.toLocaleString()} of ${all.toLocaleString()} saved.`,
  partly: (/** @type {number} */ saved, /** @type {number} */ all) =>
    `${saved.toLocaleString()} of ${all.toLocaleString()} were saved. The others have not changed.`,
};
