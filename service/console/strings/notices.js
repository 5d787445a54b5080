// @ts-check
/** The texts of the notices about the own account. */
import { timeText } from "../core/locale.js";
import { texts } from "../core/texts.js";
import { enumerated } from "./common.js";

export const { NOTICES } = await texts("notices");

/** @typedef {import("../types/api").NoticeFacts} Facts */

const NONE = "none";

/** Return codes, or what a message selects where there are none. @param {readonly string[] | null | undefined} codes */
const list = (codes) => (codes?.length ? enumerated(codes) : NONE);

/** Return a notice as a text; its kind where that has none. @param {string} kind @param {Facts} facts */
export function noticeText(kind, facts) {
  const { ended, kinds } = /** @type {Record<"ended" | "kinds", Record<string, any>>} */ (NOTICES);
  const { state, until, email, reason, givenRoles, takenRoles, changedRoles } = facts;
  const text =
    kind === "access_request_ended" ? (ended[String(state)] ?? ended.failed) : (kinds[kind] ?? kind);
  if (typeof text === "string") return text;
  return text({
    ...facts,
    until: until && timeText(until),
    email: email ?? null,
    reason: reason || NONE,
    given: list(givenRoles),
    taken: list(takenRoles),
    changed: list(changedRoles),
  });
}
