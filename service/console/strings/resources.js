// @ts-check
/** The texts of resources. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/resources.json")} */ (await texts("resources"));

export const RESOURCES = saying(T.RESOURCES, {
  number: (/** @type {number} */ n) => say(T.RESOURCES.number, { n }),
  subject: (/** @type {string | null} */ name) => say(T.RESOURCES.subject, { name }),
  editTitle: (/** @type {string} */ name) => say(T.RESOURCES.editTitle, { name }),
  makeTitle: (/** @type {string} */ name) => say(T.RESOURCES.makeTitle, { name }),
  made: (/** @type {string} */ name) => say(T.RESOURCES.made, { name }),
  saveTitle: (/** @type {string} */ name) => say(T.RESOURCES.saveTitle, { name }),
  saved: (/** @type {string} */ name) => say(T.RESOURCES.saved, { name }),
  disableTitle: (/** @type {string} */ name) => say(T.RESOURCES.disableTitle, { name }),
  enableTitle: (/** @type {string} */ name) => say(T.RESOURCES.enableTitle, { name }),
  disabled: (/** @type {string} */ name) => say(T.RESOURCES.disabled, { name }),
  enabled: (/** @type {string} */ name) => say(T.RESOURCES.enabled, { name }),
  deleteTitle: (/** @type {string} */ name) => say(T.RESOURCES.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.RESOURCES.deleted, { name }),
  bindTitle: (/** @type {string} */ name) => say(T.RESOURCES.bindTitle, { name }),
  bound: (/** @type {string} */ name) => say(T.RESOURCES.bound, { name }),
  unchanged: (/** @type {string} */ name) => say(T.RESOURCES.unchanged, { name }),
  unbindOne: (/** @type {string} */ name) => say(T.RESOURCES.unbindOne, { name }),
  routes: (/** @type {number} */ n) => say(T.RESOURCES.routes, { n }),
  guards: /** @type {Record<string, string>} */ (T.RESOURCES.guards),
  bindings: /** @type {Record<string, string>} */ (T.RESOURCES.bindings),
  allLost: (/** @type {number} */ n) => say(T.RESOURCES.allLost, { n }),
  registerChosen: (/** @type {number} */ n) => say(T.RESOURCES.registerChosen, { n }),
  registerOne: (/** @type {string} */ request) => say(T.RESOURCES.registerOne, { request }),
  outcomes: /** @type {Record<string, string>} */ (T.RESOURCES.outcomes),
  check: (/** @type {number} */ n) => say(T.RESOURCES.check, { n }),
  save: (/** @type {number} */ n) => say(T.RESOURCES.save, { n }),
  progress: (/** @type {number} */ n, /** @type {number} */ all) => say(T.RESOURCES.progress, { n, all }),
  allDone: (/** @type {number} */ n) => say(T.RESOURCES.allDone, { n }),
  someLeft: (/** @type {number} */ n) => say(T.RESOURCES.someLeft, { n }),
  refusedSome: (/** @type {number} */ n) => say(T.RESOURCES.refusedSome, { n }),
  gainsLoses: (/** @type {number} */ gains, /** @type {number} */ loses) =>
    say(T.RESOURCES.gainsLoses, { gains, loses, both: gains > 0 && loses > 0 }),
  severalBases: (/** @type {string} */ bases) => say(T.RESOURCES.severalBases, { bases }),
  summary: (/** @type {number} */ fresh, /** @type {number} */ same, /** @type {number} */ unusable) =>
    say(T.RESOURCES.summary, { fresh, same, unusable }),
});
