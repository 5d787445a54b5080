// @ts-check
/** The texts of tables as files: exports, and what leads to an import. */
import { saying, texts } from "../core/texts.js";

const T = await texts("transfer");

export const TRANSFER = saying(T.TRANSFER);
