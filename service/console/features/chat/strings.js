// @ts-check
/** The texts about chats. */
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/chat.json")} */ (await texts("chat"));

export const CHAT = saying(T.CHAT, {
  accepted: (/** @type {string} */ name) => say(T.CHAT.accepted, { name }),
  refused: (/** @type {string} */ name, /** @type {string} */ fault) => say(T.CHAT.refused, { name, fault }),
  testOf: (/** @type {string} */ name) => say(T.CHAT.testOf, { name }),
  kinds: /** @type {Record<string, string>} */ (T.CHAT.kinds),
});
