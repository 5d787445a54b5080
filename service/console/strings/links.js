// @ts-check
/** The texts of the pages that links in mails lead to. */
import { texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/start/links.json")} */ (await texts("start/links"));

export const LINKS = T.LINKS;
