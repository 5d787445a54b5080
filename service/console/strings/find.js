// @ts-check
/** The texts of suggestions and of the palette. */
import { bundle, texts } from "../core/texts.js";

const T = await texts("find");
export const { COMBOBOX, SUGGESTED, PALETTE } = T;

/** What else people look for, by the path of the page where it is. */
export const WORDS = /** @type {Record<string, string>} */ (T.WORDS);

/** What pages are called in the other languages, by what they are called in this one. */
export const ALIASES = /** @type {Record<string, string[]>} */ ((await bundle("rest")).aliases);
