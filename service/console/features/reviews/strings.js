// @ts-check
/** The texts of reviews, and of unused rights. */
import { say, saying, texts } from "../../core/texts.js";

const T = /** @type {import("../../texts/en/reviews.json")} */ (await texts("reviews"));

export const REVIEWS = saying(T.REVIEWS, {
  samePerson: (/** @type {string} */ reason) => say(T.REVIEWS.samePerson, { reason }),
  states: /** @type {Record<string, string>} */ (T.REVIEWS.states),
  of: (/** @type {number} */ some, /** @type {number} */ all) => say(T.REVIEWS.of, { some, all }),
  subject: (/** @type {string | null} */ title) =>
    title ? say(T.REVIEWS.subject, { title }) : T.REVIEWS.subjectUntitled,
  get silences() {
    return Object.entries(T.REVIEWS.silences);
  },
  get applies() {
    return Object.entries(T.REVIEWS.applies);
  },
  startTitle: (/** @type {string} */ title) => say(T.REVIEWS.startTitle, { title }),
  items: (/** @type {number} */ n) => say(T.REVIEWS.items, { n }),
  findings: (/** @type {number} */ n) => say(T.REVIEWS.findings, { n }),
  nobodySuch: (/** @type {string} */ name) => say(T.REVIEWS.nobodySuch, { name }),
  started: (/** @type {string} */ title) => say(T.REVIEWS.started, { title }),
  tabs: saying(T.REVIEWS.tabs, {
    mine: (/** @type {number} */ n) => say(T.REVIEWS.tabs.mine, { n }),
    findings: (/** @type {number} */ n) => say(T.REVIEWS.tabs.findings, { n }),
  }),
  scopes: saying(T.REVIEWS.scopes, {
    roleIds: (/** @type {string} */ names) => say(T.REVIEWS.scopes.roleIds, { names }),
    userIds: (/** @type {string} */ names) => say(T.REVIEWS.scopes.userIds, { names }),
    codes: (/** @type {string} */ names) => say(T.REVIEWS.scopes.codes, { names }),
    services: (/** @type {string} */ names) => say(T.REVIEWS.scopes.services, { names }),
    endless: () => T.REVIEWS.scopes.endless,
    unusedDays: (/** @type {string} */ days) => say(T.REVIEWS.scopes.unusedDays, { days }),
  }),
  holdersOf: (/** @type {string} */ code) => say(T.REVIEWS.holdersOf, { code }),
  only: (/** @type {string} */ names) => say(T.REVIEWS.only, { names }),
  revisionOf: (/** @type {number} */ n) => say(T.REVIEWS.revisionOf, { n }),
  byUser: (/** @type {string} */ user) => say(T.REVIEWS.byUser, { user }),
  settling: (/** @type {number} */ some, /** @type {number} */ all) => say(T.REVIEWS.settling, { some, all }),
  waiting: (/** @type {number} */ n) => say(T.REVIEWS.waiting, { n }),
  decideAll: (/** @type {number} */ n) => say(T.REVIEWS.decideAll, { n }),
  findingsOf: (/** @type {number} */ n) => say(T.REVIEWS.findingsOf, { n }),
  closeTitle: (/** @type {string} */ title) => say(T.REVIEWS.closeTitle, { title }),
  closeText: (/** @type {number} */ n, /** @type {boolean} */ revokes) =>
    say(T.REVIEWS.closeText, { n, revokes }),
  closedNow: (/** @type {string} */ title) => say(T.REVIEWS.closedNow, { title }),
  closing: (/** @type {string} */ title) => say(T.REVIEWS.closing, { title }),
  get yesNo() {
    return Object.entries(T.REVIEWS.yesNo);
  },
  moreOf: (/** @type {string} */ role, /** @type {string} */ user) => say(T.REVIEWS.moreOf, { role, user }),
  grounds: /** @type {Record<string, string>} */ (T.REVIEWS.grounds),
  groundTexts: /** @type {Record<string, string>} */ (T.REVIEWS.groundTexts),
  proposals: /** @type {Record<string, string>} */ (T.REVIEWS.proposals),
  findingTexts: /** @type {Record<string, string>} */ (T.REVIEWS.findingTexts),
  verdicts: /** @type {Record<string, string>} */ (T.REVIEWS.verdicts),
  outcomes: /** @type {Record<string, string>} */ (T.REVIEWS.outcomes),
  windowOf: (/** @type {string | null} */ from, /** @type {string | null} */ until) =>
    say(T.REVIEWS.windowOf, { from, until }),
  opensCodes: (/** @type {number} */ n) => say(T.REVIEWS.opensCodes, { n }),
  groupOf: (/** @type {string} */ role, /** @type {string} */ ground) =>
    say(T.REVIEWS.groupOf, { role, ground }),
  group: (/** @type {number} */ n) => say(T.REVIEWS.group, { n }),
  open: (/** @type {number} */ n) => say(T.REVIEWS.open, { n }),
  inGroup: (/** @type {string} */ user) => say(T.REVIEWS.inGroup, { user }),
  seen: (/** @type {number} */ seen, /** @type {number} */ all, /** @type {number} */ out) =>
    say(T.REVIEWS.seen, { seen, all, out }),
  acts: (/** @type {string} */ verdict, /** @type {number} */ n) => say(T.REVIEWS.acts, { n, verdict }),
  act: (/** @type {string} */ verdict, /** @type {string} */ user) => say(T.REVIEWS.act, { verdict, user }),
  moreFollow: (/** @type {number} */ n) => say(T.REVIEWS.moreFollow, { n }),
  decisionTitle: (/** @type {string} */ verdict, /** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REVIEWS.decisionTitle, { verdict, role, user }),
  decisionsTitle: (/** @type {string} */ verdict, /** @type {string} */ role, /** @type {number} */ n) =>
    say(T.REVIEWS.decisionsTitle, { verdict, role, n }),
  atOnce: /** @type {Record<string, string>} */ (T.REVIEWS.atOnce),
  done: (/** @type {string} */ verdict, /** @type {number} */ n) => say(T.REVIEWS.done, { verdict, n }),
});

export const UNUSED = saying(T.UNUSED, {
  exportOf: (/** @type {string} */ title) => say(T.UNUSED.exportOf, { title }),
  checks: /** @type {Record<string, string>} */ (T.UNUSED.checks),
  shorter: (/** @type {number} */ n) => say(T.UNUSED.shorter, { n }),
  count: (/** @type {string} */ title, /** @type {number} */ n) => say(T.UNUSED.count, { title, n }),
  reviewRole: (/** @type {string} */ role) => say(T.UNUSED.reviewRole, { role }),
  whatIfOf: (/** @type {string} */ role, /** @type {string} */ code) =>
    say(T.UNUSED.whatIfOf, { role, code }),
  tryOf: (/** @type {string} */ role) => say(T.UNUSED.tryOf, { role }),
  tryTitle: (/** @type {string} */ role) => say(T.UNUSED.tryTitle, { role }),
  saved: (/** @type {string} */ role) => say(T.UNUSED.saved, { role }),
});
