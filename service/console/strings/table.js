// @ts-check
/** The texts of tables. */
import { saying, texts } from "../core/texts.js";

const T = await texts("table");

export const { SELECTION } = T;

export const TABLE = saying(T.TABLE, {
  selectAll: (/** @type {number} */ all, /** @type {number} */ most) =>
    all > most ? T.TABLE.selectFirst({ most, all }) : T.TABLE.selectAll({ all }),
});
