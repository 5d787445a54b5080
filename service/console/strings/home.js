// @ts-check
/** The texts of the home page. */
import { say, saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = /** @type {import("../texts/en/home.json")} */ (await texts("home"));

export const HOME = saying(T.HOME, {
  title: (/** @type {string} */ name) => say(T.HOME.title, { name }),
  refusalsText: (/** @type {number} */ n) => say(T.HOME.refusalsText, { n }),
  times: (/** @type {number} */ n) => say(T.HOME.times, { n }),
  explainOf: (/** @type {string} */ what) => say(T.HOME.explainOf, { what }),
});

export const ATTENTION = saying(T.ATTENTION, {
  roleless: (/** @type {number} */ n) => say(T.ATTENTION.roleless, { n }),
  unused: (/** @type {number} */ n) => say(T.ATTENTION.unused, { n }),
  closed: (/** @type {number} */ n) => say(T.ATTENTION.closed, { n }),
  names: (/** @type {string[]} */ names, /** @type {number} */ total) =>
    total > names.length ? say(T.ATTENTION.more, { names: enumerated(names) }) : enumerated(names),
  /** What to do about the finding of a check, where the console can. */
  acts: /** @type {Record<string, string>} */ (T.ATTENTION.acts),
});

export const STEPS = saying(T.STEPS, {
  taken: (/** @type {number} */ n, /** @type {number} */ all) => say(T.STEPS.taken, { n, all }),
  names: /** @type {Record<string, string[]>} */ (T.STEPS.names),
});

export const RIGHTS = saying(T.RIGHTS, {
  all: (/** @type {string} */ area) => (area ? say(T.RIGHTS.allOf, { area }) : T.RIGHTS.all),
  actions: /** @type {Record<string, string>} */ (T.RIGHTS.actions),
});
