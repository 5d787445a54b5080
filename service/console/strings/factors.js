// @ts-check
/** The texts of the own second factors. */
import { texts } from "../core/texts.js";

export const { FACTORS, CODES } = await texts("factors");
