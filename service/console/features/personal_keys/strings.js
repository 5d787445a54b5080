// @ts-check
/** The texts about API keys of the own account. */
import { texts } from "../../core/texts.js";

export const { PERSONAL_KEYS } = await texts("personal-keys");
