// @ts-check
/** The texts of tables. */
import { say, saying, texts } from "../core/texts.js";

const T = await texts("table");

export const TABLE = saying(T.TABLE, {
  selectAll: (/** @type {number} */ all, /** @type {number} */ most) =>
    all > most ? say(T.TABLE.selectFirst, { most, all }) : say(T.TABLE.selectAll, { all }),
});

export const SELECTION = saying(T.SELECTION);
