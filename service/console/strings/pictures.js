// @ts-check
/** The texts of pictures. */
import { say, saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = await texts("pictures");

export const PICTURES = saying(T.PICTURES, {
  share: (/** @type {string} */ title, /** @type {string[]} */ parts) =>
    say(T.PICTURES.share, { title, parts: enumerated(parts) }),
});

export const ACTIVITY = saying(T.ACTIVITY);

export const HISTORY = saying(T.HISTORY, {
  revision: (/** @type {number} */ n, /** @type {string} */ cause, /** @type {string | null} */ by) =>
    by && !cause.endsWith(` by ${by}`)
      ? say(T.HISTORY.revisionBy, { n, cause, by })
      : say(T.HISTORY.revision, { n, cause }),
});
