// @ts-check
/** The texts about chats. */
import { texts } from "../../core/texts.js";

export const { CHAT } = await texts("chat");
