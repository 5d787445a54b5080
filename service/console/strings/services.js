// @ts-check
/** The texts of services. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/services.json")} */ (await texts("services"));

export const SERVICES = saying(T.SERVICES, {
  subject: (/** @type {string | null} */ name) => say(T.SERVICES.subject, { name }),
  editTitle: (/** @type {string} */ name) => say(T.SERVICES.editTitle, { name }),
  made: (/** @type {string} */ name) => say(T.SERVICES.made, { name }),
  saveTitle: (/** @type {string} */ name) => say(T.SERVICES.saveTitle, { name }),
  saved: (/** @type {string} */ name) => say(T.SERVICES.saved, { name }),
  deleteTitle: (/** @type {string} */ name) => say(T.SERVICES.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.SERVICES.deleted, { name }),
  words: /** @type {Record<string, string>} */ (T.SERVICES.words),
  openTitle: (/** @type {string} */ name) => say(T.SERVICES.openTitle, { name }),
  noResource: (/** @type {string} */ name) => say(T.SERVICES.noResource, { name }),
  openConfirmTitle: (/** @type {string} */ name) => say(T.SERVICES.openConfirmTitle, { name }),
  opened: (/** @type {string} */ name) => say(T.SERVICES.opened, { name }),
  closeOne: (/** @type {string} */ name) => say(T.SERVICES.closeOne, { name }),
  closeTitle: (/** @type {string} */ name) => say(T.SERVICES.closeTitle, { name }),
  closed: (/** @type {string} */ name) => say(T.SERVICES.closed, { name }),
});
