// @ts-check
/** The texts of users, bans, keys and sessions, in English. Functions take what varies. */
import { count } from "./words.js";

export const USERS = {
  title: "Users",
  caption: "Users",
  add: "New user",
  userName: "User name",
  nickName: "Name",
  email: "Email",
  phone: "Phone",
  gender: "Gender",
  avatar: "Picture",
  password: "Password",
  genders: /** @type {Record<string, string>} */ ({ female: "Female", male: "Male", other: "Other" }),
  status: "State",
  statuses: /** @type {Record<string, string>} */ ({ enabled: "Enabled", disabled: "Disabled" }),
  banned: "Banned",
  bannedBadge: "Banned",
  kind: "Kind",
  kinds: /** @type {Record<string, string>} */ ({ person: "Person", service: "Service account" }),
  service: "Service",
  role: "Role",
  roles: "Roles",
  noRoles: "No roles",
  someRole: "Any role",
  created: "Created",
  keyword: "Name, email or phone",
  lastLogin: "Last sign-in",
  never: "Never",
  updated: "Changed",
  from: "Created from",
  to: "Created before",
  facts: "Account",
  sessions: "Sessions",
  noSessions: "This user is not signed in.",
  device: "Device",
  browser: "Browser",
  address: "IP address",
  loggedIn: "Signed in",
  self: "This is your own account. Change it in your profile; nobody disables, bans or deletes themselves.",
  bannedBy: (/** @type {string} */ name) => `Banned by ${name}`,
  somebody: "a deleted user",
  until: "until",
  noEnd: "without an end",
  disable: "Disable",
  enable: "Enable",
  disableTitle: (/** @type {string} */ name) => `Disable user ${name}?`,
  enableTitle: (/** @type {string} */ name) => `Enable user ${name}?`,
  disableText:
    "All sessions of this user end at once, and nobody signs in as this user until it is enabled again.",
  enableText: "The user may sign in again, unless there is a ban too.",
  disabled: (/** @type {string} */ name) => `User ${name} was disabled.`,
  enabled: (/** @type {string} */ name) => `User ${name} was enabled.`,
  ban: "Ban",
  unban: "Lift the ban",
  invited: "invited",
  unverified: "not confirmed",
  invite: "Invite again",
  inviteTitle: (/** @type {string} */ name) => `Invitation of ${name}`,
  inviteMailed: (/** @type {string} */ name) => `An invitation is on its way to ${name}.`,
  inviteLink: (/** @type {string} */ until) =>
    `Hand this link over in a safe way. Its owner sets the first password with it, once, until ${until}.`,
  verify: "Declare the address confirmed",
  verifyTitle: (/** @type {string} */ email) => `Declare ${email} confirmed?`,
  verifyText:
    "Links for a forgotten password then go to it. Do it only if you know that it is the user's, who is told.",
  verified: (/** @type {string} */ name) => `The address of ${name} counts as confirmed.`,
  takeovers: "Counts as the same person as",
  takeoversText:
    "Users of these accounts made this one, or could get to act as its owner. In requests, reviews and sign-offs " +
    "they count as one person with it.",
  takeoverBy: "User",
  takeoverAct: "What was done",
  takeoverTime: "When",
  takeoverUntil: "Counts until",
  takeoverGone: "a deleted account",
  takeoverActs: /** @type {Record<string, string>} */ ({
    made: "Made it",
    password: "Set its password",
    address: "Set its address",
    factor: "Reset its second factors",
    key: "Made an API key",
    hand_over: "Handed it over to a provider",
    link: "Saw a link to it",
    take_over: "Took it over",
  }),
  confirmOwner: "Confirm the owner",
  confirmOwnerTitle: (/** @type {string} */ name) => `Confirm the owner of ${name}?`,
  confirmOwnerText:
    "You say that its owner is another person than those who are listed. Do it only if you know that person, and " +
    "they have looked at their passkeys, linked providers and sessions.",
  ownerConfirmed: (/** @type {string} */ name) => `The owner of ${name} is confirmed.`,
  sendReset: "Send a link for a new password",
  resetSent: (/** @type {string} */ name) => `A link for a new password is on its way to ${name}.`,
  reset: "Set a password",
  resetTitle: (/** @type {string} */ name) => `Set a new password for ${name}?`,
  resetText:
    "All sessions of this user end at once. Only the new password works then: tell it to the user in a safe way.",
  keys: "API keys",
  newPassword: "New password",
  resetConfirm: "Set the password",
  resetDone: (/** @type {string} */ name) => `User ${name} got a new password.`,
  factors: "Second factors",
  factor: "Factor",
  factorKinds: /** @type {Record<string, string>} */ ({
    totp: "Authenticator app",
    passkey: "Passkey",
    recovery_codes: "Recovery codes",
  }),
  factorName: "Name",
  factorUsed: "Last used",
  noFactors: "This user has none: the password alone signs in.",
  resetFactors: "Reset the second factors",
  resetFactorsTitle: (/** @type {string} */ name) => `Reset the second factors of ${name}?`,
  resetFactorsText:
    "All factors, recovery codes and sessions of this user end at once. Then the password alone signs in: " +
    "make sure by another way that it is the user who asks.",
  factorsReset: (/** @type {string} */ name) => `The second factors of user ${name} were reset.`,
  kick: "End",
  kickDevice: (/** @type {string} */ device) => `End the session on ${device}`,
  kickAll: "End all sessions",
  kickTitle: (/** @type {string} */ name, /** @type {string} */ device) =>
    `End the session of ${name} on ${device}?`,
  kickAllTitle: (/** @type {string} */ name) => `End all sessions of ${name}?`,
  kickText: "The user has to sign in again before the next request.",
  kickConfirm: "End",
  kicked: (/** @type {string} */ name) => `Sessions of user ${name} have ended.`,
  kickedFrom: (/** @type {string} */ name, /** @type {string} */ device) =>
    `The session of user ${name} on ${device} has ended.`,
  deleteTitle: (/** @type {string} */ name) => `Delete user ${name}?`,
  deleteText: (/** @type {string} */ name) =>
    `The account ${name} is deleted with its roles, and all its sessions end. ` +
    "Its files and log entries stay, and the name becomes free. This can't be undone.",
  deleteConfirm: "Delete this user",
  deleted: (/** @type {string} */ name) => `User ${name} was deleted.`,
  newUser: "New user",
  subject: (/** @type {string | null} */ name) => (name ? `User ${name}` : "The user"),
  newService: "New service account",
  mayLogIn: "May sign in at once",
  userNameHelp: "To sign in with; unique.",
  nickNameHelp: "How the user is shown.",
  avatarHelp: "The address of a picture: http(s), or a path of this service.",
  passwordHelp:
    "Hard to guess: length counts, not kinds of characters. " +
    "Leave it empty to invite the user, who then sets the first one.",
  serviceHelp: "The name of the guarded service that the account is bound to.",
  madeUser: (/** @type {string} */ name) => `User ${name} was created.`,
  editTitle: (/** @type {string} */ name) => `Edit ${name}`,
  saved: (/** @type {string} */ name) => `User ${name} was saved.`,
  rolesHelp:
    "A role that is chosen here has no end. For an end or a reason, assign it on the page of the user, under Roles.",
  rolesTitle: (/** @type {string} */ name) => `Change the roles of ${name}?`,
  rolesText: "These are the consequences of the new roles.",
  importTitle: "Import users",
  importText:
    "Users are found by name: known ones are changed, others created. " +
    "The file is checked first, and all rows are saved together or none. " +
    "A new person without a password is disabled.",
};

export const BULK = {
  actions: "Selected users",
  giveRole: "Give role",
  takeRole: "Take role",
  endSessions: "End sessions",
  preview: "Preview",
  disableTitle: (/** @type {string} */ users) => `Disable ${users}?`,
  enableTitle: (/** @type {string} */ users) => `Enable ${users}?`,
  giveTitle: (/** @type {string} */ users) => `Give a role to ${users}?`,
  takeTitle: (/** @type {string} */ users) => `Take a role from ${users}?`,
  endTitle: (/** @type {string} */ users) => `End all sessions of ${users}?`,
  users: (/** @type {number} */ n) => count(n, "user", "users"),
  counts: (/** @type {number} */ changed, /** @type {number} */ unchanged) =>
    `${count(changed, "user changes", "users change")}, ${unchanged.toLocaleString()} already as asked for.`,
  disabled: (/** @type {number} */ n) => `${count(n, "user was", "users were")} disabled.`,
  enabled: (/** @type {number} */ n) => `${count(n, "user was", "users were")} enabled.`,
  given: (/** @type {number} */ n, /** @type {string} */ role) =>
    `${count(n, "user", "users")} got the role ${role}.`,
  taken: (/** @type {number} */ n, /** @type {string} */ role) =>
    `${count(n, "user", "users")} no longer ${n === 1 ? "has" : "have"} the role ${role}.`,
  ended: (/** @type {number} */ n) => `All sessions of ${count(n, "user", "users")} ended.`,
};

export const BANS = {
  title: (/** @type {string} */ name) => `Ban user ${name}?`,
  text:
    "All sessions of this user end at once, and the user cannot sign in until the ban ends. " +
    "A longer ban that is in force keeps its end.",
  /** 0 for a ban without an end. */
  lasts: "For",
  times: /** @type {[number, string][]} */ ([
    [3600, "1 hour"],
    [86_400, "1 day"],
    [604_800, "7 days"],
    [2_592_000, "30 days"],
    [31_536_000, "1 year"],
    [0, "Until it is lifted"],
  ]),
  reason: "Reason",
  reasonHelp: "Other administrators see it.",
  confirm: "Ban this user",
  done: (/** @type {string} */ name) => `User ${name} was banned.`,
  lifted: (/** @type {string} */ name) => `The ban of user ${name} was lifted.`,
};

export const KEYS = {
  caption: "API keys, the oldest first",
  name: "Name",
  prefix: "Begins with",
  scopes: "Limited to",
  everything: "No limit",
  expires: "Expires",
  never: "Never",
  expired: "Expired",
  used: "Last used",
  unused: "Not yet",
  created: "Created",
  make: "Create a key",
  expiresAfter: "Expires after",
  noEnd: "Without an end",
  scopesHelp:
    "Permissions, separated by commas or spaces; wildcards too. Empty: all that the account may do.",
  made: "The new key",
  madeText: "It is shown only now, and can't be read again: keep it in a safe place.",
  delete: "Delete",
  deleteTitle: (/** @type {string} */ name) => `Delete API key ${name}?`,
  deleteText: "Programs that use it are refused from now on.",
  deleted: (/** @type {string} */ name) => `API key ${name} was deleted.`,
  none: "This account has no keys.",
  persons: "Only service accounts have API keys.",
};

export const ONLINE = {
  title: "Sessions",
  caption: "Who is signed in, and on which device",
  user: "User",
  device: "Device",
  browser: "Browser",
  address: "IP address",
  login: "Signed in",
  you: "You",
  end: "End",
  endAll: "End all",
  ban: "Ban",
  endTitle: (/** @type {string} */ name, /** @type {string} */ device) =>
    `End the session of ${name} on ${device}?`,
  endText: "That device has to sign in again before its next request.",
  endConfirm: "End the session",
  ended: (/** @type {string} */ name, /** @type {string} */ device) =>
    `The session of user ${name} on ${device} has ended.`,
  allTitle: (/** @type {string} */ name) => `End all sessions of ${name}?`,
  allText: "Each device has to sign in again before its next request. API keys are not affected.",
  allConfirm: "End all sessions",
  allEnded: (/** @type {string} */ name, /** @type {number} */ n) =>
    `${count(n, "session", "sessions")} of user ${name} ended.`,
  none: "Nobody is signed in.",
};
