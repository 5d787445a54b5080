// @ts-check
/** The texts about how strongly somebody has to authenticate. */
import { listed } from "../core/locale.js";
import { saying, texts } from "../core/texts.js";

const T = await texts("start/step-up");

const WORDS = ["login", "two-factors", "phishing-resistant"].flatMap((strength) =>
  ["", "-within-12h", "-within-15m"].map((age) => strength + age),
);

/** Return what a word of the layer assurance asks for, such as `@two-factors-within-15m`. @param {string} word */
function demandText(word) {
  const bare = word.replace(/^@/, "");
  const demands = /** @type {Record<string, string>} */ (T.DEMANDS);
  return Object.hasOwn(demands, bare) ? demands[bare] : word;
}

/** Return what several words ask for, any of which will do. @param {readonly string[]} words */
export const demandsText = (words) => listed(words.map(demandText), "disjunction");

/** Return the demands that administrators set, with their texts. @returns {[string, string][]} */
export const demandOptions = () => WORDS.map((word) => [word, capital(demandText(word))]);

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export const STEP_UP = saying(T.STEP_UP, {
  needs: (/** @type {readonly string[]} */ words) => T.STEP_UP.needs({ demands: demandsText(words) }),
});
