// @ts-check
/** The texts of suggestions and of the palette. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/find.json")} */ (await texts("find"));

export const COMBOBOX = saying(T.COMBOBOX, {
  count: (/** @type {number} */ n) => say(T.COMBOBOX.count, { n }),
});

export const SUGGESTED = T.SUGGESTED;

export const PALETTE = T.PALETTE;
