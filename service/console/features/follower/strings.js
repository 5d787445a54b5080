// @ts-check
/** The texts about followers. */
import { shownNumber } from "../../core/locale.js";
import { saying, texts } from "../../core/texts.js";

const T = await texts("follower");

export const FOLLOWERS = saying(T.FOLLOWERS, {
  revisionsBehind: (/** @type {number} */ n) => T.FOLLOWERS.revisionsBehind({ n: Math.max(0, n) }),
  seconds: (/** @type {number} */ n) =>
    T.FOLLOWERS.seconds({ n: shownNumber(n, { maximumFractionDigits: 1 }) }),
});
