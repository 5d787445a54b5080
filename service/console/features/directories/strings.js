// @ts-check
/** The texts of directories and what they hand out. */
import { saying, texts } from "../../core/texts.js";

const T = await texts("directories");

export const DIRECTORIES = saying(T.DIRECTORIES);
