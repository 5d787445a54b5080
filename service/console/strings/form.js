// @ts-check
/** The texts of forms and trees, in English. Functions take what varies. */
import { count } from "./words.js";

export const FORM = {
  required: "required",
  faults: (/** @type {number} */ n) => `${count(n, "value", "values")} to correct`,
  missing: "Fill this in.",
  half: "Complete this value, or clear it.",
  taken: (/** @type {any} */ value) => `“${value}” is already in use.`,
  notSaved: (/** @type {string} */ subject) => `${subject} was not saved`,
  notSet: "Not set",
  by: (/** @type {string} */ name) => `by ${name}`,
  meanwhile: "Changed in the meantime",
  meanwhileBy: (/** @type {string} */ name) => `Changed by ${name} in the meantime`,
  meanwhileText:
    "Your changes are not saved yet. If both of you changed the same value, choose the one to keep. " +
    "All other changes are merged.",
  member: "Value",
  mine: "Yours",
  theirs: "Theirs",
  before: "Before",
  empty: "(empty)",
};

/** A length of time; its units by their seconds. */
export const LASTING = {
  usual: "Usual lengths",
  lengths: /** @type {[number, string][]} */ ([
    [86_400, "1 day"],
    [604_800, "1 week"],
    [1_209_600, "2 weeks"],
    [2_592_000, "30 days"],
  ]),
  longest: (/** @type {string} */ length) => `Longest: ${length}`,
  number: "Number",
  unit: "Unit",
  units: /** @type {Record<number, string>} */ ({
    86400: "Days",
    3600: "Hours",
    60: "Minutes",
    1: "Seconds",
  }),
};

export const TREE = {
  open: "Open",
  close: "Close",
  cut: (/** @type {number} */ n) =>
    `There are more results: only the first ${n.toLocaleString()} rows are shown.`,
};
