// @ts-check
/** The texts of the notices about the own account. */
import { timeText } from "../core/locale.js";
import { say, saying, texts } from "../core/texts.js";
import { enumerated } from "./common.js";

const T = /** @type {import("../texts/en/notices.json")} */ (await texts("notices"));

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

export const NOTICES = saying(T.NOTICES, {
  by: /** @type {Record<string, string>} */ (T.NOTICES.by),
  kinds: /** @type {Record<string, (facts: Facts) => string>} */ (
    saying(T.NOTICES.kinds, {
      new_device: () => T.NOTICES.kinds.new_device,
      second_factor_blocked: () => T.NOTICES.kinds.second_factor_blocked,
      session_stolen: ({ device }) => say(T.NOTICES.kinds.session_stolen, { device }),
      password_changed: () => T.NOTICES.kinds.password_changed,
      reset_asked: () => T.NOTICES.kinds.reset_asked,
      factor_added: ({ name }) => say(T.NOTICES.kinds.factor_added, { name }),
      identity_linked: ({ name }) => say(T.NOTICES.kinds.identity_linked, { name }),
      identity_unlinked: ({ name }) => say(T.NOTICES.kinds.identity_unlinked, { name }),
      factor_removed: ({ name }) => say(T.NOTICES.kinds.factor_removed, { name }),
      factors_reset: () => T.NOTICES.kinds.factors_reset,
      recovery_codes_made: () => T.NOTICES.kinds.recovery_codes_made,
      recovery_code_used: () => T.NOTICES.kinds.recovery_code_used,
      api_key_made: ({ name, account }) => say(T.NOTICES.kinds.api_key_made, { name, account }),
      key_expires: ({ name, until }) =>
        say(T.NOTICES.kinds.key_expires, { name, until: timeText(String(until)) }),
      key_used_elsewhere: ({ name, network }) => say(T.NOTICES.kinds.key_used_elsewhere, { name, network }),
      key_leaked: ({ name, account }) => say(T.NOTICES.kinds.key_leaked, { name, account }),
      address_changed: ({ email }) => say(T.NOTICES.kinds.address_changed, { email: email ?? null }),
      recovery_changed: ({ email }) => say(T.NOTICES.kinds.recovery_changed, { email }),
      address_restored: ({ email }) => say(T.NOTICES.kinds.address_restored, { email }),
      address_verified: () => T.NOTICES.kinds.address_verified,
      role_ends: ({ role, until }) =>
        say(T.NOTICES.kinds.role_ends, { role, until: timeText(String(until)) }),
      account_dormant: ({ until }) =>
        say(T.NOTICES.kinds.account_dormant, { until: timeText(String(until)) }),
      roles_changed: ({ givenRoles, takenRoles, changedRoles }) =>
        say(T.NOTICES.kinds.roles_changed, {
          given: list(givenRoles),
          taken: list(takenRoles),
          changed: list(changedRoles),
        }),
      banned: () => T.NOTICES.kinds.banned,
      access_request_made: ({ account, role, reason }) =>
        say(T.NOTICES.kinds.access_request_made, { account, role, reason: reason || NONE }),
      access_request_ended: ended,
      emergency_given: ({ account, role }) => say(T.NOTICES.kinds.emergency_given, { account, role }),
      name_taken: ({ name, account, made }) => say(T.NOTICES.kinds.name_taken, { account, name, made }),
    })
  ),
});
