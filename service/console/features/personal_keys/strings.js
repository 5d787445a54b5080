// @ts-check
/** The texts about API keys of the own account. */
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/personal-keys.json")} */ (await texts("personal-keys"));

export const PERSONAL_KEYS = saying(T.PERSONAL_KEYS, {
  madeTitle: (/** @type {string} */ name) => say(T.PERSONAL_KEYS.madeTitle, { name }),
  revokeOf: (/** @type {string} */ name) => say(T.PERSONAL_KEYS.revokeOf, { name }),
  revokeTitle: (/** @type {string} */ name) => say(T.PERSONAL_KEYS.revokeTitle, { name }),
  revoked: (/** @type {string} */ name) => say(T.PERSONAL_KEYS.revoked, { name }),
});
