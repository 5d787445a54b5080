// @ts-check
/** The texts of files. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/files.json")} */ (await texts("files"));

export const FILES = saying(T.FILES, {
  sending: (/** @type {string} */ name) => say(T.FILES.sending, { name }),
  sent: (/** @type {string} */ name) => say(T.FILES.sent, { name }),
  stopped: (/** @type {string} */ name) => say(T.FILES.stopped, { name }),
  linked: (/** @type {string} */ name) => say(T.FILES.linked, { name }),
  replaceTitle: (/** @type {string} */ name) => say(T.FILES.replaceTitle, { name }),
  shareTitle: (/** @type {string} */ name) => say(T.FILES.shareTitle, { name }),
  madeText: (/** @type {string} */ time) => say(T.FILES.madeText, { time }),
  unshareTitle: (/** @type {string} */ name) => say(T.FILES.unshareTitle, { name }),
  unshared: (/** @type {string} */ name) => say(T.FILES.unshared, { name }),
  deleteTitle: (/** @type {string} */ name) => say(T.FILES.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.FILES.deleted, { name }),
});
