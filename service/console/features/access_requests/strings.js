// @ts-check
/** The texts of requests for roles. */
import { listed } from "../../core/locale.js";
import { say, saying, texts } from "../../core/texts.js";
import { enumerated, namesOf } from "../../strings/common.js";
import { duration } from "../../strings/words.js";

const T = /** @type {import("../../texts/en/access-requests.json")} */ (await texts("access-requests"));

export const REQUESTS = saying(T.REQUESTS, {
  tabs: saying(T.REQUESTS.tabs, {
    waiting: (/** @type {number} */ n) => say(T.REQUESTS.tabs.waiting, { n }),
  }),
  states: /** @type {Record<string, string>} */ (T.REQUESTS.states),
  until: (/** @type {string} */ time) => say(T.REQUESTS.until, { time }),
  duration,
  allOwn: (/** @type {number} */ n) => say(T.REQUESTS.allOwn, { n }),
  allWaiting: (/** @type {number} */ n) => say(T.REQUESTS.allWaiting, { n }),
  asks: (/** @type {string} */ user, /** @type {string} */ role) => say(T.REQUESTS.asks, { user, role }),
  took: (/** @type {string} */ user, /** @type {string} */ role) => say(T.REQUESTS.took, { user, role }),
  allRoles: (/** @type {number} */ n) => say(T.REQUESTS.allRoles, { n }),
  askFor: (/** @type {string} */ role) => say(T.REQUESTS.askFor, { role }),
  titles: namesOf,
  atMost: (/** @type {number} */ seconds) => say(T.REQUESTS.atMost, { duration: duration(seconds) }),
  names: (/** @type {readonly string[]} */ names, /** @type {number} */ needed) => {
    if (needed >= names.length) return listed(names);
    if (needed === 1) return listed(names, "disjunction");
    return say(T.REQUESTS.names, { needed, names: enumerated(names) });
  },
  holdersOf: (/** @type {number} */ n) => say(T.REQUESTS.holdersOf, { n }),
  askRole: (/** @type {string} */ role) => say(T.REQUESTS.askRole, { role }),
  subject: (/** @type {string | null} */ role) => say(T.REQUESTS.subject, { role }),
  get lasting() {
    return Object.entries(T.REQUESTS.lasting);
  },
  askTitle: (/** @type {string} */ role) => say(T.REQUESTS.askTitle, { role }),
  asked: (/** @type {string} */ role) => say(T.REQUESTS.asked, { role }),
  got: (/** @type {string} */ role) => say(T.REQUESTS.got, { role }),
  titleOf: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REQUESTS.titleOf, { role, user }),
  held: (/** @type {string} */ user) => say(T.REQUESTS.held, { user }),
  heldNothing: (/** @type {string} */ user) => say(T.REQUESTS.heldNothing, { user }),
  wouldChange: (/** @type {string} */ user) => say(T.REQUESTS.wouldChange, { user }),
  of: (/** @type {number} */ counted, /** @type {number} */ all) => say(T.REQUESTS.of, { counted, all }),
  samePerson: (/** @type {string} */ reason) => say(T.REQUESTS.samePerson, { reason }),
  approveTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REQUESTS.approveTitle, { role, user }),
  approveSure: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REQUESTS.approveSure, { role, user }),
  givenLater: (/** @type {string} */ from) => say(T.REQUESTS.givenLater, { from }),
  denyTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REQUESTS.denyTitle, { role, user }),
  withdrawTitle: (/** @type {string} */ role) => say(T.REQUESTS.withdrawTitle, { role }),
  closeTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REQUESTS.closeTitle, { user, role }),
  approved: (/** @type {string} */ role, /** @type {string} */ user) =>
    say(T.REQUESTS.approved, { role, user }),
  denied: (/** @type {string} */ role, /** @type {string} */ user) => say(T.REQUESTS.denied, { role, user }),
  withdrawn: (/** @type {string} */ role) => say(T.REQUESTS.withdrawn, { role }),
  closed: (/** @type {string} */ user) => say(T.REQUESTS.closed, { user }),
  steps: saying(T.REQUESTS.steps, {
    refused: (/** @type {string} */ user) => say(T.REQUESTS.steps.refused, { user }),
    refusedBefore: (/** @type {string} */ user) => say(T.REQUESTS.steps.refusedBefore, { user }),
    asked: (/** @type {string} */ user, /** @type {string} */ role) =>
      say(T.REQUESTS.steps.asked, { user, role }),
    decisions: saying(T.REQUESTS.steps.decisions, {
      approve: (/** @type {string} */ user) => say(T.REQUESTS.steps.decisions.approve, { user }),
      deny: (/** @type {string} */ user) => say(T.REQUESTS.steps.decisions.deny, { user }),
    }),
    closed: (/** @type {string} */ user) => say(T.REQUESTS.steps.closed, { user }),
    inStages: (/** @type {readonly number[]} */ stages) =>
      say(T.REQUESTS.steps.inStages, { n: stages.length, stages: enumerated(stages.map(String)) }),
    noLonger: (/** @type {string} */ until) => say(T.REQUESTS.steps.noLonger, { until }),
    cancelled: (/** @type {string} */ user) => say(T.REQUESTS.steps.cancelled, { user }),
    given: (/** @type {string} */ user) => say(T.REQUESTS.steps.given, { user }),
    revoked: (/** @type {string} */ user) => say(T.REQUESTS.steps.revoked, { user }),
    done: (/** @type {string} */ user) => say(T.REQUESTS.steps.done, { user }),
  }),
});
