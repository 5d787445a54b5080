// @ts-check
/** The texts of forms and trees. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/start/form.json")} */ (await texts("start/form"));

export const FORM = saying(T.FORM, {
  faults: (/** @type {number} */ n) => say(T.FORM.faults, { n }),
  taken: (/** @type {any} */ value) => say(T.FORM.taken, { value }),
  notSaved: (/** @type {string} */ subject) => say(T.FORM.notSaved, { subject }),
  by: (/** @type {string} */ name) => say(T.FORM.by, { name }),
  meanwhileBy: (/** @type {string} */ name) => say(T.FORM.meanwhileBy, { name }),
});

/** A length of time; its units by their seconds. */
export const LASTING = saying(T.LASTING, {
  get lengths() {
    return /** @type {[number, string][]} */ (
      Object.entries(T.LASTING.lengths).map(([key, text]) => [Number(key), text])
    );
  },
  longest: (/** @type {string} */ length) => say(T.LASTING.longest, { length }),
  units: /** @type {Record<number, string>} */ (T.LASTING.units),
});

export const TREE = saying(T.TREE, {
  cut: (/** @type {number} */ n) => say(T.TREE.cut, { n }),
});
