// @ts-check
/** The texts of tables. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/table.json")} */ (await texts("table"));

export const TABLE = saying(T.TABLE, {
  select: (/** @type {string} */ name) => say(T.TABLE.select, { name }),
  selectAll: (/** @type {number} */ all, /** @type {number} */ most) =>
    all > most ? say(T.TABLE.selectFirst, { most, all }) : say(T.TABLE.selectAll, { all }),
  keptAs: (/** @type {string} */ name) => say(T.TABLE.keptAs, { name }),
  forget: (/** @type {string} */ name) => say(T.TABLE.forget, { name }),
  cutFile: (/** @type {number} */ n) => say(T.TABLE.cutFile, { n }),
  moreMatch: (/** @type {number} */ n) => say(T.TABLE.moreMatch, { n }),
  range: (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ total) =>
    say(T.TABLE.range, { from, to, total }),
  atLeast: (/** @type {number} */ total) => say(T.TABLE.atLeast, { total }),
  sortBy: (/** @type {string} */ title) => say(T.TABLE.sortBy, { title }),
  rows: (/** @type {number} */ n) => say(T.TABLE.rows, { n }),
  selected: (/** @type {number} */ n) => say(T.TABLE.selected, { n }),
});

export const SELECTION = saying(T.SELECTION, {
  enableTitle: (/** @type {string} */ records) => say(T.SELECTION.enableTitle, { records }),
  disableTitle: (/** @type {string} */ records) => say(T.SELECTION.disableTitle, { records }),
  counts: (/** @type {string} */ changed, /** @type {number} */ unchanged) =>
    say(T.SELECTION.counts, { changed, unchanged }),
  enabled: (/** @type {string} */ records) => say(T.SELECTION.enabled, { records }),
  disabled: (/** @type {string} */ records) => say(T.SELECTION.disabled, { records }),
  inBatches: (/** @type {number} */ most) => say(T.SELECTION.inBatches, { most }),
  range: (/** @type {number} */ from, /** @type {number} */ to) => say(T.SELECTION.range, { from, to }),
  batch: (/** @type {number} */ changed, /** @type {number} */ unchanged) =>
    say(T.SELECTION.batch, { changed, unchanged }),
  progress: (/** @type {number} */ saved, /** @type {number} */ all) =>
    say(T.SELECTION.progress, { saved, all }),
  partly: (/** @type {number} */ saved, /** @type {number} */ all) => say(T.SELECTION.partly, { saved, all }),
});
