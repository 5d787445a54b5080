// @ts-check
/** The texts of suggestions and of the palette. */
import { bundle, saying, texts } from "../core/texts.js";

const T = await texts("find");

/** What pages are called in the other languages, by what they are called in this one. */
export const ALIASES = /** @type {Record<string, string[]>} */ ((await bundle("rest")).aliases);

export const COMBOBOX = saying(T.COMBOBOX);

export const SUGGESTED = saying(T.SUGGESTED);

export const PALETTE = saying(T.PALETTE);
