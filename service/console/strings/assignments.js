// @ts-check
/** The texts of the roles of users as assignments. */
import { saying, texts } from "../core/texts.js";
import { duration } from "./words.js";

const T = await texts("assignments");

export const ASSIGNMENTS = saying(T.ASSIGNMENTS, {
  maxDuration: (/** @type {number} */ seconds) => T.ASSIGNMENTS.maxDuration({ duration: duration(seconds) }),
});
