// @ts-check
/** The texts of tables as files: exports, and what leads to an import. */
import { texts } from "../core/texts.js";

export const { TRANSFER } = await texts("transfer");
