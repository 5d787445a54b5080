// @ts-check
/** The texts about chats. */
import { saying, texts } from "../../core/texts.js";

const T = await texts("chat");

export const CHAT = saying(T.CHAT);
