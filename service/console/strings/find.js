// @ts-check
/** The texts of suggestions and of the palette. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/find.json")} */ (await texts("find"));

/** What pages are called in the other languages, by what they are called in this one. */
export const ALIASES = /** @type {Record<string, string[]>} */ (await texts("aliases"));

export const COMBOBOX = saying(T.COMBOBOX, {
  count: (/** @type {number} */ n) => say(T.COMBOBOX.count, { n }),
});

export const SUGGESTED = T.SUGGESTED;

export const PALETTE = T.PALETTE;
