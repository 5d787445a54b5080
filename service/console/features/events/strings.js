// @ts-check
/** The texts about events and webhooks. */
import { shownNumber } from "../../core/locale.js";
import { saying, texts } from "../../core/texts.js";

const T = await texts("webhooks");

export const WEBHOOKS = saying(T.WEBHOOKS, {
  seconds: (/** @type {number} */ n) =>
    T.WEBHOOKS.seconds({ n: shownNumber(n, { maximumFractionDigits: 1 }) }),
});
