// @ts-check
/** The texts of the home page. */
import { saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = await texts("home");

export const { HOME, STEPS } = T;

export const ATTENTION = saying(T.ATTENTION, {
  names: (/** @type {string[]} */ names, /** @type {number} */ total) =>
    total > names.length ? T.ATTENTION.more({ names: enumerated(names) }) : enumerated(names),
  /** What to do about the finding of a check, where the console can. */
});

export const RIGHTS = saying(T.RIGHTS, {
  all: (/** @type {string} */ area) => (area ? T.RIGHTS.allOf({ area }) : T.RIGHTS.all),
});
