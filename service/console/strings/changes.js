// @ts-check
/** The texts of the view of changes. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/changes.json")} */ (await texts("changes"));

export const CHANGES = saying(T.CHANGES, {
  get sinces() {
    return /** @type {[number, string][]} */ (
      Object.entries(T.CHANGES.sinces).map(([key, text]) => [Number(key), text])
    );
  },
  between: (/** @type {number} */ from, /** @type {number} */ to) => say(T.CHANGES.between, { from, to }),
  lines: (/** @type {number} */ from, /** @type {number} */ to) => say(T.CHANGES.lines, { from, to }),
  signedOff: (/** @type {string} */ title, /** @type {number} */ revision) =>
    say(T.CHANGES.signedOff, { revision, title }),
  started: (/** @type {string} */ role, /** @type {string} */ user, /** @type {string} */ at) =>
    say(T.CHANGES.started, { role, user, at }),
  expired: (/** @type {string} */ role, /** @type {string} */ user, /** @type {string} */ at) =>
    say(T.CHANGES.expired, { role, user, at }),
  andMore: (/** @type {number} */ n) => say(T.CHANGES.andMore, { n }),
  revision: (
    /** @type {number} */ n,
    /** @type {number | null} */ added,
    /** @type {number | null} */ removed,
  ) =>
    added === null || removed === null
      ? say(T.CHANGES.revision, { n })
      : say(T.CHANGES.revisionLines, { n, added, removed }),
});
