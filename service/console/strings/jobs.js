// @ts-check
/** The texts of jobs, in English. Functions take what varies. */
import { duration } from "./words.js";

export const JOBS = {
  title: "Jobs",
  name: "Name",
  state: "State",
  interval: "Runs",
  due: "Due",
  success: "Last success",
  failing: "The last run failed",
  paused: "Paused",
  fine: "OK",
  onDemand: "On request",
  every: (/** @type {number} */ seconds) => `every ${duration(seconds)}`,
  askedBy: (/** @type {string} */ name) => `(requested by ${name})`,
  run: "Run now",
  pause: "Pause",
  resume: "Resume",
  asked: (/** @type {string} */ name) => `Job ${name} is running. Refresh to see the result.`,
  isPaused: (/** @type {string} */ name) => `Job ${name} was paused. It still runs on request.`,
  resumed: (/** @type {string} */ name) => `Job ${name} runs on its schedule again.`,
  runs: "Last runs",
  begun: "Started",
  ended: "Ended",
  outcome: "Outcome",
  detail: "Detail",
  by: "Requested by",
  schedule: "the schedule",
  outcomes: /** @type {Record<string, string>} */ ({
    running: "Running",
    done: "Done",
    failed: "Failed",
    stopped: "Stopped",
    abandoned: "Abandoned",
  }),
};
