// @ts-check
/** The texts about erasures of personal data. */
import { texts } from "../../core/texts.js";

export const { ERASURE } = await texts("personal-data");
