// @ts-check
/** The texts of the own second factors. */
import { saying, texts } from "../core/texts.js";

const T = await texts("factors");

export const FACTORS = saying(T.FACTORS);

export const CODES = saying(T.CODES);
