// @ts-check
/** The texts of the operation log. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/operations.json")} */ (await texts("operations"));

export const OPERATIONS = saying(T.OPERATIONS, {
  kinds: /** @type {Record<string, string>} */ (T.OPERATIONS.kinds),
  shown: /** @type {Record<string, string>} */ (T.OPERATIONS.shown),
  hiddenPreviews: (
    /** @type {{total: number, text: string}} */ { total, text },
    /** @type {{total: number, text: string}} */ refused,
  ) =>
    refused.total > 0
      ? say(T.OPERATIONS.hiddenRefused, { total, text, refused: refused.text })
      : say(T.OPERATIONS.hiddenPreviews, { total, text }),
  times: (/** @type {number} */ n) => say(T.OPERATIONS.times, { n }),
  ofRepetitions: (/** @type {number} */ n) => say(T.OPERATIONS.ofRepetitions, { n }),
  statuses: /** @type {Record<string, string>} */ (T.OPERATIONS.statuses),
  decisions: /** @type {Record<string, string>} */ (T.OPERATIONS.decisions),
  milliseconds: (/** @type {number} */ n) => say(T.OPERATIONS.milliseconds, { n }),
  cut: (/** @type {number} */ n) => say(T.OPERATIONS.cut, { n }),
  andMore: (/** @type {number} */ n) => say(T.OPERATIONS.andMore, { n }),
});

/** The opposite of an entry. */
export const REVERT = saying(T.REVERT, {
  revertOf: (/** @type {string} */ text) => say(T.REVERT.revertOf, { text }),
  reverted: (/** @type {string} */ text) => say(T.REVERT.reverted, { text }),
  gone: (/** @type {string} */ name) => say(T.REVERT.gone, { name }),
  changedSince: (/** @type {string} */ field) => say(T.REVERT.changedSince, { field }),
});
