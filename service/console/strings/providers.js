// @ts-check
/** The texts of signing in with a provider, and of the directories that know a user. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/providers.json")} */ (await texts("providers"));

export const PROVIDERS = saying(T.PROVIDERS, {
  signIn: (/** @type {string} */ title) => say(T.PROVIDERS.signIn, { title }),
  prove: (/** @type {string} */ title) => say(T.PROVIDERS.prove, { title }),
  proveText: (/** @type {string} */ title) => say(T.PROVIDERS.proveText, { title }),
});

export const ORIGINS = saying(T.ORIGINS, {
  link: (/** @type {string} */ title) => say(T.ORIGINS.link, { title }),
  unlinkOne: (/** @type {string} */ title) => say(T.ORIGINS.unlinkOne, { title }),
  unlinkTitle: (/** @type {string} */ title) => say(T.ORIGINS.unlinkTitle, { title }),
  unlinkUserTitle: (/** @type {string} */ title, /** @type {string} */ user) =>
    say(T.ORIGINS.unlinkUserTitle, { user, title }),
  unlinked: (/** @type {string} */ title) => say(T.ORIGINS.unlinked, { title }),
  managed: (/** @type {string} */ name) => say(T.ORIGINS.managed, { name }),
  given: (/** @type {string} */ name) => say(T.ORIGINS.given, { name }),
});
