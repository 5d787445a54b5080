// @ts-check
/** The texts of users, bans, keys and sessions. */
import { saying, texts } from "../core/texts.js";

const T = await texts("users");

export const USERS = saying(T.USERS);

export const BULK = saying(T.BULK);

export const BANS = saying(T.BANS);

export const KEYS = saying(T.KEYS);

export const ONLINE = saying(T.ONLINE);
