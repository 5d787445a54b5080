// @ts-check
/** The texts of signing in with a provider, and of the directories that know a user. */
import { saying, texts } from "../core/texts.js";

const T = await texts("providers");

export const PROVIDERS = saying(T.PROVIDERS);

export const ORIGINS = saying(T.ORIGINS);
