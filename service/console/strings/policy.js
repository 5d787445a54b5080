// @ts-check
/** The texts of the views of the policy. */
import { say, saying, texts } from "../core/texts.js";

const T = /** @type {import("../texts/en/policy.json")} */ (await texts("policy"));

export const POLICY = saying(T.POLICY, {
  linesCount: (/** @type {number} */ n) => say(T.POLICY.linesCount, { n }),
  modelTerms: /** @type {[string, string][]} */ (T.POLICY.modelTerms),
  layers: /** @type {Record<string, string>} */ (T.POLICY.layers),
  reloaded: (/** @type {number} */ n) => say(T.POLICY.reloaded, { n }),
  question: (/** @type {string} */ text) => say(T.POLICY.question, { text }),
  get abouts() {
    return Object.entries(T.POLICY.abouts);
  },
  get subjects() {
    return Object.entries(T.POLICY.subjects);
  },
  foundLogs: /** @type {Record<string, string>} */ (T.POLICY.foundLogs),
  role: (/** @type {string} */ name) => say(T.POLICY.role, { name }),
  user: (/** @type {string} */ name) => say(T.POLICY.user, { name }),
  objectNotes: /** @type {Record<string, string>} */ (T.POLICY.objectNotes),
  moreLines: (/** @type {number} */ n) => say(T.POLICY.moreLines, { n }),
  reasons: /** @type {Record<string, string>} */ (T.POLICY.reasons),
  rows: /** @type {Record<string, string>} */ (T.POLICY.rows),
  fromRole: (/** @type {string} */ role) => say(T.POLICY.fromRole, { role }),
  assignedBy: (/** @type {string} */ name) => say(T.POLICY.assignedBy, { name }),
  unregisteredThere: (/** @type {string} */ name) => say(T.POLICY.unregisteredThere, { name }),
  get whoAbouts() {
    return Object.entries(T.POLICY.whoAbouts);
  },
  usersMay: (/** @type {number} */ n) => say(T.POLICY.usersMay, { n }),
  kinds: /** @type {Record<string, string>} */ (T.POLICY.kinds),
  pathOf: (/** @type {string} */ name) => say(T.POLICY.pathOf, { name }),
  whyOf: (/** @type {string} */ name) => say(T.POLICY.whyOf, { name }),
  group: (/** @type {string} */ name, /** @type {number} */ n) => say(T.POLICY.group, { name, n }),
  passes: /** @type {Record<string, string>} */ (T.POLICY.passes),
  rolesOf: (/** @type {number} */ n, /** @type {number} */ all) => say(T.POLICY.rolesOf, { n, all }),
  need: /** @type {Record<string, string>} */ (T.POLICY.need),
  tampered: (/** @type {number} */ n) => say(T.POLICY.tampered, { n }),
  distrusted: (/** @type {string} */ why) => say(T.POLICY.distrusted, { why }),
  revisionTitle: (/** @type {string | number} */ n) => say(T.POLICY.revisionTitle, { n }),
  restoreOne: (/** @type {number} */ n) => say(T.POLICY.restoreOne, { n }),
  recordKinds: /** @type {Record<string, string>} */ (T.POLICY.recordKinds),
  restoreTitle: (/** @type {number} */ n) => say(T.POLICY.restoreTitle, { n }),
  restoreText: (/** @type {number} */ n) => say(T.POLICY.restoreText, { n }),
  restored: (/** @type {number} */ n, /** @type {number} */ now) => say(T.POLICY.restored, { n, now }),
});

/** The answer of an explanation in a sentence, and what repairs a refusal. */
export const REPAIR = saying(T.REPAIR, {
  gives: (/** @type {string} */ role) => say(T.REPAIR.gives, { role }),
  demands: (/** @type {string} */ demand) => say(T.REPAIR.demands, { demand }),
  ask: (/** @type {string} */ role) => say(T.REPAIR.ask, { role }),
  openRevision: (/** @type {number} */ n) => say(T.REPAIR.openRevision, { n }),
  reason: (/** @type {string} */ request, /** @type {string | null} */ decision = null) =>
    (decision ? say(T.REPAIR.reasonRefused, { request, decision }) : say(T.REPAIR.reason, { request })).slice(
      0,
      500,
    ),
  noUser: (/** @type {string} */ name) => say(T.REPAIR.noUser, { name }),
});

export const WHAT_IF = saying(T.WHAT_IF, {
  get subjects() {
    return Object.entries(T.WHAT_IF.subjects);
  },
});
