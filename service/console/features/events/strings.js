// @ts-check
/** The texts about events and webhooks. */
import { shownNumber } from "../../core/locale.js";
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/webhooks.json")} */ (await texts("webhooks"));

export const WEBHOOKS = saying(T.WEBHOOKS, {
  accepted: (/** @type {string} */ name) => say(T.WEBHOOKS.accepted, { name }),
  refused: (/** @type {string} */ name, /** @type {string} */ fault) =>
    say(T.WEBHOOKS.refused, { name, fault }),
  testOf: (/** @type {string} */ name) => say(T.WEBHOOKS.testOf, { name }),
  replayOf: (/** @type {string} */ name) => say(T.WEBHOOKS.replayOf, { name }),
  lettersOf: (/** @type {string} */ name) => say(T.WEBHOOKS.lettersOf, { name }),
  replayed: (/** @type {number} */ n) => say(T.WEBHOOKS.replayed, { n }),
  seconds: (/** @type {number} */ n) =>
    say(T.WEBHOOKS.seconds, { n: shownNumber(n, { maximumFractionDigits: 1 }) }),
});
