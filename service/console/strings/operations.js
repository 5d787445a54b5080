// @ts-check
/** The texts of the operation log. */
import { saying, texts } from "../core/texts.js";

const T = await texts("operations");

export const { REVERT } = T;

export const OPERATIONS = saying(T.OPERATIONS, {
  hiddenPreviews: (
    /** @type {{total: number, text: string}} */ { total, text },
    /** @type {{total: number, text: string}} */ refused,
  ) =>
    refused.total > 0
      ? T.OPERATIONS.hiddenRefused({ total, text, refused: refused.text })
      : T.OPERATIONS.hiddenPreviews({ total, text }),
});
