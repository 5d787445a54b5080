// @ts-check
/** The texts of roles and their permissions. */
import { saying, texts } from "../core/texts.js";

const T = await texts("roles");

export const ROLES = saying(T.ROLES);

export const PERMISSIONS = saying(T.PERMISSIONS);
