// @ts-check
/** The texts of the own account, its devices and sign-ins. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/account.json")} */ (await texts("account"));

export const ACCOUNT = saying(T.ACCOUNT, {
  unconfirmed: (/** @type {string} */ email, /** @type {string | null} */ before) =>
    say(T.ACCOUNT.unconfirmed, { before, email }),
  confirmationSent: (/** @type {string} */ email) => say(T.ACCOUNT.confirmationSent, { email }),
  genders: /** @type {Record<string, string>} */ (T.ACCOUNT.genders),
});

export const DEVICES = saying(T.DEVICES, {
  endTitle: (/** @type {string} */ device) => say(T.DEVICES.endTitle, { device }),
  ended: (/** @type {string} */ device) => say(T.DEVICES.ended, { device }),
});

export const LOGINS = saying(T.LOGINS, {
  outcomes: /** @type {Record<string, string>} */ (T.LOGINS.outcomes),
  events: /** @type {Record<string, string>} */ (T.LOGINS.events),
});
