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
  onDemand: "When somebody asks for it",
  every: (/** @type {number} */ seconds) => `every ${duration(seconds)}`,
  askedBy: (/** @type {string} */ name) => `(asked for by ${name})`,
  run: "Run now",
  pause: "Pause",
  resume: "Resume",
  asked: (/** @type {string} */ name) => `Job ${name} runs now. Refresh to see how it ended.`,
  isPaused: (/** @type {string} */ name) =>
    `Job ${name} was paused. It still runs when somebody asks for it.`,
  resumed: (/** @type {string} */ name) => `Job ${name} runs by its schedule again.`,
  runs: "Last runs",
  begun: "Begun",
  ended: "Ended",
  outcome: "Outcome",
  detail: "Detail",
  by: "Asked for by",
  schedule: "the schedule",
  outcomes: /** @type {Record<string, string>} */ ({
    running: "Running",
    done: "Done",
    failed: "Failed",
    stopped: "Stopped",
    abandoned: "Abandoned",
  }),
};
