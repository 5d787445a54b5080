// @ts-check
/** The texts of the own account, its devices and sign-ins. */
import { texts } from "../core/texts.js";

export const { ACCOUNT, DEVICES, LOGINS } = await texts("account");
