// @ts-check
/** The texts of the own account, its devices and sign-ins. */
import { saying, texts } from "../core/texts.js";

const T = await texts("account");

export const ACCOUNT = saying(T.ACCOUNT);

export const DEVICES = saying(T.DEVICES);

export const LOGINS = saying(T.LOGINS);
