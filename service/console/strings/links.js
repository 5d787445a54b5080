// @ts-check
/** The texts of the pages that links in mails lead to. */
import { texts } from "../core/texts.js";

export const { LINKS } = await texts("start/links");
