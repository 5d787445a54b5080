// @ts-check
/** The texts of the pages that links in mails lead to. */
import { saying, texts } from "../core/texts.js";

const T = await texts("start/links");

export const LINKS = saying(T.LINKS);
