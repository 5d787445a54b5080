// @ts-check
/** The texts of the outbox. */
import { saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/mails.json")} */ (await texts("mails"));

export const MAILS = saying(T.MAILS, {
  states: /** @type {Record<string, string>} */ (T.MAILS.states),
  kinds: /** @type {Record<string, string>} */ (T.MAILS.kinds),
});
