// @ts-check
/** The texts of the own second factors. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/factors.json")} */ (await texts("factors"));

export const FACTORS = saying(T.FACTORS, {
  kinds: /** @type {Record<string, string>} */ (T.FACTORS.kinds),
  removeTitle: (/** @type {string} */ name) => say(T.FACTORS.removeTitle, { name }),
  removed: (/** @type {string} */ name) => say(T.FACTORS.removed, { name }),
});

export const CODES = saying(T.CODES, {
  file: (/** @type {string} */ user, /** @type {string} */ codes) => say(T.CODES.file, { user, codes }),
});
