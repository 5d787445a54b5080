// @ts-check
/** The texts of roles and their permissions. */
import { texts } from "../core/texts.js";

export const { ROLES, PERMISSIONS } = await texts("roles");
