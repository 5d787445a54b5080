// @ts-check
/** The texts of files. */
import { saying, texts } from "../core/texts.js";

const T = await texts("files");

export const FILES = saying(T.FILES);
