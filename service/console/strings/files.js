// @ts-check
/** The texts of files. */
import { texts } from "../core/texts.js";

export const { FILES } = await texts("files");
