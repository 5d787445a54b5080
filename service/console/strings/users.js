// @ts-check
/** The texts of users, bans, keys and sessions. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/users.json")} */ (await texts("users"));

export const USERS = saying(T.USERS, {
  genders: /** @type {Record<string, string>} */ (T.USERS.genders),
  statuses: /** @type {Record<string, string>} */ (T.USERS.statuses),
  kinds: /** @type {Record<string, string>} */ (T.USERS.kinds),
  bannedBy: (/** @type {string} */ name) => say(T.USERS.bannedBy, { name }),
  disableTitle: (/** @type {string} */ name) => say(T.USERS.disableTitle, { name }),
  enableTitle: (/** @type {string} */ name) => say(T.USERS.enableTitle, { name }),
  disabled: (/** @type {string} */ name) => say(T.USERS.disabled, { name }),
  enabled: (/** @type {string} */ name) => say(T.USERS.enabled, { name }),
  inviteTitle: (/** @type {string} */ name) => say(T.USERS.inviteTitle, { name }),
  inviteMailed: (/** @type {string} */ name) => say(T.USERS.inviteMailed, { name }),
  inviteLink: (/** @type {string} */ until) => say(T.USERS.inviteLink, { until }),
  verifyTitle: (/** @type {string} */ email) => say(T.USERS.verifyTitle, { email }),
  verified: (/** @type {string} */ name) => say(T.USERS.verified, { name }),
  takeoverActs: /** @type {Record<string, string>} */ (T.USERS.takeoverActs),
  confirmOwnerTitle: (/** @type {string} */ name) => say(T.USERS.confirmOwnerTitle, { name }),
  ownerConfirmed: (/** @type {string} */ name) => say(T.USERS.ownerConfirmed, { name }),
  resetSent: (/** @type {string} */ name) => say(T.USERS.resetSent, { name }),
  resetTitle: (/** @type {string} */ name) => say(T.USERS.resetTitle, { name }),
  resetDone: (/** @type {string} */ name) => say(T.USERS.resetDone, { name }),
  factorKinds: /** @type {Record<string, string>} */ (T.USERS.factorKinds),
  resetFactorsTitle: (/** @type {string} */ name) => say(T.USERS.resetFactorsTitle, { name }),
  factorsReset: (/** @type {string} */ name) => say(T.USERS.factorsReset, { name }),
  kickDevice: (/** @type {string} */ device) => say(T.USERS.kickDevice, { device }),
  kickTitle: (/** @type {string} */ name, /** @type {string} */ device) =>
    say(T.USERS.kickTitle, { name, device }),
  kickAllTitle: (/** @type {string} */ name) => say(T.USERS.kickAllTitle, { name }),
  kicked: (/** @type {string} */ name) => say(T.USERS.kicked, { name }),
  kickedFrom: (/** @type {string} */ name, /** @type {string} */ device) =>
    say(T.USERS.kickedFrom, { name, device }),
  deleteTitle: (/** @type {string} */ name) => say(T.USERS.deleteTitle, { name }),
  deleteText: (/** @type {string} */ name) => say(T.USERS.deleteText, { name }),
  deleted: (/** @type {string} */ name) => say(T.USERS.deleted, { name }),
  subject: (/** @type {string | null} */ name) => say(T.USERS.subject, { name }),
  firsts: /** @type {Record<string, string>} */ (T.USERS.firsts),
  made: (/** @type {string} */ name) => say(T.USERS.made, { name }),
  editTitle: (/** @type {string} */ name) => say(T.USERS.editTitle, { name }),
  saved: (/** @type {string} */ name) => say(T.USERS.saved, { name }),
  rolesTitle: (/** @type {string} */ name) => say(T.USERS.rolesTitle, { name }),
});

export const BULK = saying(T.BULK, {
  disableTitle: (/** @type {string} */ users) => say(T.BULK.disableTitle, { users }),
  enableTitle: (/** @type {string} */ users) => say(T.BULK.enableTitle, { users }),
  giveTitle: (/** @type {string} */ users) => say(T.BULK.giveTitle, { users }),
  takeTitle: (/** @type {string} */ users) => say(T.BULK.takeTitle, { users }),
  endTitle: (/** @type {string} */ users) => say(T.BULK.endTitle, { users }),
  users: (/** @type {number} */ n) => say(T.BULK.users, { n }),
  counts: (/** @type {number} */ changed, /** @type {number} */ unchanged) =>
    say(T.BULK.counts, { changed, unchanged }),
  disabled: (/** @type {number} */ n) => say(T.BULK.disabled, { n }),
  enabled: (/** @type {number} */ n) => say(T.BULK.enabled, { n }),
  given: (/** @type {number} */ n, /** @type {string} */ role) => say(T.BULK.given, { n, role }),
  taken: (/** @type {number} */ n, /** @type {string} */ role) => say(T.BULK.taken, { n, role }),
  ended: (/** @type {number} */ n) => say(T.BULK.ended, { n }),
});

export const BANS = saying(T.BANS, {
  title: (/** @type {string} */ name) => say(T.BANS.title, { name }),
  get times() {
    return /** @type {[number, string][]} */ (
      Object.entries(T.BANS.times).map(([key, text]) => [Number(key), text])
    );
  },
  done: (/** @type {string} */ name) => say(T.BANS.done, { name }),
  lifted: (/** @type {string} */ name) => say(T.BANS.lifted, { name }),
});

export const KEYS = saying(T.KEYS, {
  from: (/** @type {string} */ address) => say(T.KEYS.from, { address }),
  deleteTitle: (/** @type {string} */ name) => say(T.KEYS.deleteTitle, { name }),
  deleted: (/** @type {string} */ name) => say(T.KEYS.deleted, { name }),
});

export const ONLINE = saying(T.ONLINE, {
  endTitle: (/** @type {string} */ name, /** @type {string} */ device) =>
    say(T.ONLINE.endTitle, { name, device }),
  ended: (/** @type {string} */ name, /** @type {string} */ device) => say(T.ONLINE.ended, { name, device }),
  allTitle: (/** @type {string} */ name) => say(T.ONLINE.allTitle, { name }),
  allEnded: (/** @type {string} */ name, /** @type {number} */ n) => say(T.ONLINE.allEnded, { n, name }),
});
