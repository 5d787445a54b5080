// @ts-check
/** The texts of the outbox. */
import { saying, texts } from "../core/texts.js";

const T = await texts("mails");

export const MAILS = saying(T.MAILS);
