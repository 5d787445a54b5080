// @ts-check
/** The texts of jobs. */
import { say, saying, texts } from "../core/texts.js";
import { duration } from "./words.js";

const T = /** @type {import("../texts/en/jobs.json")} */ (await texts("jobs"));

export const JOBS = saying(T.JOBS, {
  every: (/** @type {number} */ seconds) => say(T.JOBS.every, { duration: duration(seconds) }),
  askedBy: (/** @type {string} */ name) => say(T.JOBS.askedBy, { name }),
  asked: (/** @type {string} */ name) => say(T.JOBS.asked, { name }),
  isPaused: (/** @type {string} */ name) => say(T.JOBS.isPaused, { name }),
  resumed: (/** @type {string} */ name) => say(T.JOBS.resumed, { name }),
  titles: /** @type {Record<string, string>} */ (T.JOBS.titles),
  outcomes: /** @type {Record<string, string>} */ (T.JOBS.outcomes),
});
