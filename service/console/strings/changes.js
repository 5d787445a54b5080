// @ts-check
/** The texts of the view of changes. */
import { say, saying, texts } from "../core/texts.js";

const T = await texts("changes");

export const CHANGES = saying(T.CHANGES, {
  lines: (/** @type {number} */ from, /** @type {number} */ to) => say(T.CHANGES.lines, { from, to }),
  revision: (
    /** @type {number} */ n,
    /** @type {number | null} */ added,
    /** @type {number | null} */ removed,
  ) =>
    added === null || removed === null
      ? say(T.CHANGES.revision, { n })
      : say(T.CHANGES.revisionLines, { n, added, removed }),
});
