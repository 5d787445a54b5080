// @ts-check
/** The texts of pictures. */
import { say, saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = /** @type {import("../texts/en/pictures.json")} */ (await texts("pictures"));

export const PICTURES = saying(T.PICTURES, {
  tableOf: (/** @type {string} */ name) => say(T.PICTURES.tableOf, { name }),
  share: (/** @type {string} */ title, /** @type {string[]} */ parts) =>
    say(T.PICTURES.share, { title, parts: enumerated(parts) }),
  more: (/** @type {number} */ n) => say(T.PICTURES.more, { n }),
  access: (/** @type {string} */ who, /** @type {string} */ request, /** @type {string} */ outcome) =>
    say(T.PICTURES.access, { who, request, outcome }),
});

export const ACTIVITY = saying(T.ACTIVITY, {
  get spans() {
    return Object.entries(T.ACTIVITY.spans);
  },
  ofDays: (/** @type {number} */ days) => say(T.ACTIVITY.ofDays, { days }),
  name: (/** @type {number} */ hours) => say(T.ACTIVITY.name, { hours }),
});

export const HISTORY = saying(T.HISTORY, {
  nameOf: (/** @type {string} */ target) => say(T.HISTORY.nameOf, { target }),
  revision: (/** @type {number} */ n, /** @type {string} */ cause, /** @type {string | null} */ by) =>
    by && !cause.endsWith(` by ${by}`)
      ? say(T.HISTORY.revisionBy, { n, cause, by })
      : say(T.HISTORY.revision, { n, cause }),
});
