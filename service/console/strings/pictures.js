// @ts-check
/** The texts of pictures. */
import { saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = await texts("pictures");

export const { ACTIVITY } = T;

export const PICTURES = saying(T.PICTURES, {
  share: (/** @type {string} */ title, /** @type {string[]} */ parts) =>
    T.PICTURES.share({ title, parts: enumerated(parts) }),
});

export const HISTORY = saying(T.HISTORY, {
  revision: (/** @type {number} */ n, /** @type {string} */ cause, /** @type {string | null} */ by) =>
    by ? T.HISTORY.revisionBy({ n, cause, by }) : T.HISTORY.revision({ n, cause }),
});
