// @ts-check
/** The texts of imports of tables. */
import { texts } from "../../core/texts.js";

export const { IMPORT, OF_USERS, OF_ROLES } = await texts("tables");
