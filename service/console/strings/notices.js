// @ts-check
/** The texts of the notices about the own account, in English. Functions take what varies. */

/** @typedef {import("../types/api").NoticeFacts} Facts */

const list = (/** @type {readonly string[] | undefined} */ codes) => (codes ?? []).join(", ");

/** Return how a request has ended, for its author. @param {Facts} facts */
function ended({ state, until, reason }) {
  if (state === "approved") return `was approved, and expires on ${new Date(String(until)).toLocaleString()}`;
  if (state === "expired") return "has expired without an approval";
  return `${state === "denied" ? "was denied" : "has failed"}${reason ? `: ${reason}` : ""}`;
}

export const NOTICES = {
  title: "Notices",
  caption: "Events of your account",
  about:
    "These notices cannot be turned off. If you do not recognise an event, change your password and " +
    "end your other sessions.",
  readAll: "Mark all as read",
  what: "What",
  when: "When",
  where: "From",
  unread: "new",
  none: "There are no notices.",
  by: /** @type {Record<string, string>} */ ({
    administrator: "an administrator",
    operator: "the operator of the service",
  }),
  kinds: /** @type {Record<string, (facts: Facts) => string>} */ ({
    new_device: () => "A sign-in from a new device or location",
    second_factor_blocked: () => "Too many wrong second factors after a correct password",
    session_stolen: ({ device }) =>
      `The session on ${device} was ended, because its refresh token was used twice`,
    password_changed: () => "Your password was set",
    reset_asked: () => "A password reset link was requested",
    factor_added: ({ name }) => `The second factor ${name} was added`,
    identity_linked: ({ name }) => `An account of the provider ${name} was linked to yours`,
    identity_unlinked: ({ name }) => `An account of the provider ${name} was unlinked from yours`,
    factor_removed: ({ name }) => `The second factor ${name} was removed`,
    factors_reset: () => "All your second factors were removed",
    recovery_codes_made: () => "New recovery codes were created",
    recovery_code_used: () => "A recovery code was used",
    api_key_made: ({ name, account }) => `The API key ${name} of ${account} was created`,
    address_changed: ({ email }) => `Your email address was changed to ${email ?? "none"}`,
    recovery_changed: ({ email }) => `Password reset links are now sent to ${email}`,
    address_restored: ({ email }) => `Your email address is ${email} again`,
    address_verified: () => "An administrator marked your email address as verified",
    role_ends: ({ role, until }) =>
      `Your role ${role} expires on ${new Date(String(until)).toLocaleString()}`,
    account_dormant: ({ until }) =>
      `Your account will be disabled on ${new Date(String(until)).toLocaleString()} unless you sign in`,
    roles_changed: ({ givenRoles, takenRoles, changedRoles }) =>
      [
        "Your roles were changed:",
        givenRoles?.length && `given ${list(givenRoles)}`,
        takenRoles?.length && `taken ${list(takenRoles)}`,
        changedRoles?.length && `changed period of ${list(changedRoles)}`,
      ]
        .filter(Boolean)
        .join(" "),
    banned: () => "Your account was banned",
    access_request_made: ({ account, role, reason }) =>
      `${account} asks for the role ${role}${reason ? ` (${reason})` : ""}: you can decide`,
    access_request_ended: (facts) => `Your request for the role ${facts.role} ${ended(facts)}`,
    emergency_given: ({ account, role }) =>
      `${account} got the role ${role} in an emergency, without approval. Review and close it`,
    name_taken: ({ name, account, made }) =>
      `${account} of the provider ${name} has a user name that was already in use, and got the account ${made}`,
  }),
};
