// @ts-check
/** The texts of the notices about the own account, in English. Functions take what varies. */

/** @typedef {import("../types/api").NoticeFacts} Facts */

const list = (/** @type {readonly string[] | undefined} */ codes) => (codes ?? []).join(", ");

/** Return how a request has ended, for its author. @param {Facts} facts */
function ended({ state, until, reason }) {
  if (state === "approved")
    return `was approved: you have it until ${new Date(String(until)).toLocaleString()}`;
  if (state === "expired") return "has expired: nobody approved it in time";
  return `${state === "denied" ? "was denied" : "has failed"}${reason ? `: ${reason}` : ""}`;
}

export const NOTICES = {
  title: "Notices",
  caption: "What has happened to your account",
  about:
    "Nobody can switch these off. If one of them tells of something that you did not do, change your password " +
    "and end your other sessions.",
  readAll: "Mark all as read",
  what: "What",
  when: "When",
  where: "From",
  unread: "new",
  none: "Nothing has happened to your account.",
  by: /** @type {Record<string, string>} */ ({
    administrator: "an administrator",
    operator: "the operator of the service",
  }),
  kinds: /** @type {Record<string, (facts: Facts) => string>} */ ({
    new_device: () => "A login from a new device or place",
    second_factor_blocked: () => "Too many wrong second factors after the right password",
    session_stolen: ({ device }) => `The session on ${device} was ended: its refresh token was used twice`,
    password_changed: () => "Your password was set",
    reset_asked: () => "A link for a new password was asked for",
    factor_added: ({ name }) => `The second factor ${name} was added`,
    identity_linked: ({ name }) => `An account of the provider ${name} was linked with yours`,
    identity_unlinked: ({ name }) => `An account of the provider ${name} was unlinked from yours`,
    factor_removed: ({ name }) => `The second factor ${name} was removed`,
    factors_reset: () => "All your second factors were removed",
    recovery_codes_made: () => "New recovery codes were made",
    recovery_code_used: () => "A recovery code was used",
    api_key_made: ({ name, account }) => `The API key ${name} of ${account} was made`,
    address_changed: ({ email }) => `Your email address was changed to ${email ?? "none"}`,
    recovery_changed: ({ email }) => `Links for a forgotten password go to ${email} now`,
    address_restored: ({ email }) => `Your email address is ${email} again`,
    address_verified: () => "Your email address was declared verified",
    role_ends: ({ role, until }) => `Your role ${role} ends on ${new Date(String(until)).toLocaleString()}`,
    account_dormant: ({ until }) =>
      `Your account is disabled on ${new Date(String(until)).toLocaleString()} unless it is used`,
    roles_changed: ({ givenRoles, takenRoles, changedRoles }) =>
      [
        "Your roles were changed:",
        givenRoles?.length && `given ${list(givenRoles)}`,
        takenRoles?.length && `taken ${list(takenRoles)}`,
        changedRoles?.length && `other times of ${list(changedRoles)}`,
      ]
        .filter(Boolean)
        .join(" "),
    banned: () => "Your account was banned",
    access_request_made: ({ account, role, reason }) =>
      `${account} asks for the role ${role}${reason ? ` (${reason})` : ""}: you may decide`,
    access_request_ended: (facts) => `Your request for the role ${facts.role} ${ended(facts)}`,
    emergency_given: ({ account, role }) =>
      `${account} was given the role ${role} at once, in an emergency: look at it, and close it`,
    name_taken: ({ name, account, made }) =>
      `${account} of the provider ${name} has another user's name here, and got the account ${made}`,
  }),
};
