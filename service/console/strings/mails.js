// @ts-check
/** The texts of the outbox. */
import { texts } from "../core/texts.js";

export const { MAILS } = await texts("mails");
