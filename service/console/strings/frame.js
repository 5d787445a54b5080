// @ts-check
/** The texts of what stands around every view. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/frame.json")} */ (await texts("frame"));

export const FRAME = saying(T.FRAME, {
  unread: (/** @type {number} */ count) => say(T.FRAME.unread, { count }),
  signedInAs: (/** @type {string} */ name) => say(T.FRAME.signedInAs, { name }),
  zone: (/** @type {string} */ zone) => say(T.FRAME.zone, { zone }),
  version: (/** @type {string} */ version) => say(T.FRAME.version, { version }),
  findings: (/** @type {number} */ n) => say(T.FRAME.findings, { n }),
  waiting: (/** @type {number} */ n) => say(T.FRAME.waiting, { n }),
  notYoursText: (/** @type {string} */ operation) => say(T.FRAME.notYoursText, { operation }),
});

export const GROUPS = T.GROUPS;

export const ENTRIES = T.ENTRIES;

export const SHORTCUTS = saying(T.SHORTCUTS, {
  get keys() {
    return Object.entries(T.SHORTCUTS.keys);
  },
});
