// @ts-check
/** The texts of directories and what they hand out. */
import { texts } from "../../core/texts.js";

export const { DIRECTORIES } = await texts("directories");
