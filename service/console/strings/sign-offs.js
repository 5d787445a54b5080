// @ts-check
/** The texts of sign-offs of revisions. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/sign-offs.json")} */ (await texts("sign-offs"));

export const SIGN_OFFS = saying(T.SIGN_OFFS, {
  samePerson: (/** @type {string} */ reason) => say(T.SIGN_OFFS.samePerson, { reason }),
  title: (/** @type {number} */ revision) => say(T.SIGN_OFFS.title, { revision }),
  done: (/** @type {number} */ revision) => say(T.SIGN_OFFS.done, { revision }),
  event: (/** @type {number} */ revision, /** @type {string} */ title, /** @type {string} */ by) =>
    say(T.SIGN_OFFS.event, { revision, by, title }),
});
