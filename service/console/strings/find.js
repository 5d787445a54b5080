// @ts-check
/** The texts of suggestions and of the palette. */
import { bundle, texts } from "../core/texts.js";

export const { COMBOBOX, SUGGESTED, PALETTE } = await texts("find");

/** What pages are called in the other languages, by what they are called in this one. */
export const ALIASES = /** @type {Record<string, string[]>} */ ((await bundle("rest")).aliases);
