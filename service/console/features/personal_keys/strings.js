// @ts-check
/** The texts about API keys of the own account. */
import { saying, texts } from "../../core/texts.js";

const T = await texts("personal-keys");

export const PERSONAL_KEYS = saying(T.PERSONAL_KEYS);
