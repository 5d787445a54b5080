// @ts-check
/** The texts of jobs. */
import { saying, texts } from "../core/texts.js";
import { duration } from "./words.js";

const T = await texts("jobs");

export const JOBS = saying(T.JOBS, {
  every: (/** @type {number} */ seconds) => T.JOBS.every({ duration: duration(seconds) }),
});
