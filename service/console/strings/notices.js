// @ts-check
/** The texts of the notices about the own account. */
import { timeText } from "../core/locale.js";
import { say, saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = await texts("notices");

/** @typedef {import("../types/api").NoticeFacts} Facts */

const NONE = "none";

/** Return codes, or what a message selects where there are none. @param {readonly string[] | null | undefined} codes */
const list = (codes) => (codes?.length ? enumerated(codes) : NONE);

/** Return how a request has ended, for its author. @param {Facts} facts */
function ended({ role, state, until, reason }) {
  const { approved, expired, denied, failed } = T.NOTICES.ended;
  if (state === "approved") return say(approved, { role, until: timeText(String(until)) });
  if (state === "expired") return say(expired, { role });
  return say(state === "denied" ? denied : failed, { role, reason: reason || NONE });
}

export const NOTICES = saying(T.NOTICES);

/** Return a notice as a text; its kind where that has none. @param {string} kind @param {Facts} facts */
export function noticeText(kind, facts) {
  if (kind === "access_request_ended") return ended(facts);
  const { until, email, reason, givenRoles, takenRoles, changedRoles, ...rest } = facts;
  return say(/** @type {Record<string, string>} */ (T.NOTICES.kinds)[kind] ?? kind, {
    .../** @type {Record<string, any>} */ (rest),
    until: until && timeText(until),
    email: email ?? null,
    reason: reason || NONE,
    given: list(givenRoles),
    taken: list(takenRoles),
    changed: list(changedRoles),
  });
}
