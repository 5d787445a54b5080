// @ts-check
/** The texts of users, bans, keys and sessions. */
import { texts } from "../core/texts.js";

export const { USERS, SERVICE_ACCOUNTS, BULK, BANS, KEYS, ONLINE } = await texts("users");
