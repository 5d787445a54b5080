// @ts-check
/** The texts of tables as files: exports, and what leads to an import. */
import { saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/transfer.json")} */ (await texts("transfer"));

export const TRANSFER = saying(T.TRANSFER, {
  formats: /** @type {Record<string, string>} */ (T.TRANSFER.formats),
});
