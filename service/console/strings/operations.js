// @ts-check
/** The texts of the operation log. */
import { say, saying, texts } from "../core/texts.js";

const T = await texts("operations");

export const OPERATIONS = saying(T.OPERATIONS, {
  hiddenPreviews: (
    /** @type {{total: number, text: string}} */ { total, text },
    /** @type {{total: number, text: string}} */ refused,
  ) =>
    refused.total > 0
      ? say(T.OPERATIONS.hiddenRefused, { total, text, refused: refused.text })
      : say(T.OPERATIONS.hiddenPreviews, { total, text }),
});

/** The opposite of an entry. */
export const REVERT = saying(T.REVERT);
