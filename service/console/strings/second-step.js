// @ts-check
/** The texts of the second step of a login. */
import { saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/start/second-step.json")} */ (await texts("start/second-step"));

export const SECOND_STEP = saying(T.SECOND_STEP, {
  about: /** @type {Record<string, string>} */ (T.SECOND_STEP.about),
  code: /** @type {Record<string, string>} */ (T.SECOND_STEP.code),
  instead: /** @type {Record<string, string>} */ (T.SECOND_STEP.instead),
});
