// @ts-check
/** The texts of signing in with a provider, and of the directories that know a user. */
import { texts } from "../core/texts.js";

export const { PROVIDERS, ORIGINS } = await texts("providers");
