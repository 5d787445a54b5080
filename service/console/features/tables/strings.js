// @ts-check
/** The texts of imports of tables. */
import { saying, texts } from "../../core/texts.js";

const T = await texts("tables");

export const IMPORT = saying(T.IMPORT);

export const OF_USERS = saying(T.OF_USERS);

export const OF_ROLES = saying(T.OF_ROLES);
