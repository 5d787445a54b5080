// @ts-check
/** The texts of the view of changes. */
import { saying, texts } from "../core/texts.js";

const T = await texts("changes");

export const CHANGES = saying(T.CHANGES, {
  lines: (/** @type {number} */ from, /** @type {number} */ to) => T.CHANGES.lines({ from, to }),
  revision: (
    /** @type {number} */ n,
    /** @type {number | null} */ added,
    /** @type {number | null} */ removed,
  ) =>
    added === null || removed === null
      ? T.CHANGES.revision({ n })
      : T.CHANGES.revisionLines({ n, added, removed }),
});
