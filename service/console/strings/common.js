// @ts-check
/** The texts of what several views share, in English. Functions take what varies. */
import { count } from "./words.js";

export const ACTION = {
  save: "Save",
  cancel: "Cancel",
  close: "Close",
  delete: "Delete",
  edit: "Edit",
  create: "Create",
  retry: "Try again",
  undo: "Undo",
  undoKeys: "Ctrl Z",
  back: "Back",
  more: "More",
  moreActions: "More actions",
  remove: "Remove",
  search: "Search",
  reset: "Clear the filters",
  copy: "Copy",
  copied: "Copied",
  copyOne: (/** @type {string} */ text) => `Copy: ${text}`,
  copiedOne: (/** @type {string} */ text) => `Copied: ${text}`,
  next: "Next",
  previous: "Previous",
  apply: "Apply",
  reload: "Refresh",
};

const NOT_SAVED = "Nothing was saved.";

export const TROUBLE = {
  /** Said of requests that save something, and of no others. */
  notSaved: NOT_SAVED,
  request: "Request",
  decision: "Decision",
  /** What a status means to the reader: title and text; the detail of the service follows. */
  0: ["The service can't be reached", "Check your connection, and try again."],
  400: [
    "The service could not process this request",
    "The console, or a proxy in between, sent a malformed request.",
  ],
  401: ["You are not signed in", "Your session has ended. Sign in to continue."],
  403: ["You are not allowed to do this", "Your permissions do not allow it."],
  404: ["Not found", "It may have been deleted, or you may lack access to it."],
  409: ["This conflicts with stored data", NOT_SAVED],
  412: ["Another person has changed this in the meantime", "Nothing was saved. Your input is kept."],
  413: ["This is too large", NOT_SAVED],
  415: ["This kind of file is not accepted", NOT_SAVED],
  422: ["Some values break a rule", NOT_SAVED],
  429: ["Too many attempts", "Wait a moment, then try again."],
  500: ["The service failed", "The service log has the details for this request id."],
  503: ["The service is temporarily unavailable", "A required store does not respond. Try again shortly."],
  other: ["The service refused this", ""],
  /**
   * Codes that say more than their status. The console's own: `outdated` when the file of a view can't be loaded,
   * `elsewhere` for a redirect.
   */
  outdated: [
    "This page can't be loaded",
    "The service is unavailable, or it was upgraded. Trying again reloads the console.",
  ],
  elsewhere: [
    "The console can't fetch this file",
    "The object store serves it directly. A user who can share files can create a link.",
  ],
  not_reverted: ["This change can't be reverted", ""],
  login_failed: ["The user name or the password is wrong", ""],
  sign_in_failed: ["The sign-in with the provider failed", "Try again, or use a password."],
  passkey_not_used: [
    "No passkey was used",
    "The prompt was cancelled or timed out, or this device has no passkey for the account.",
  ],
  passkey_known: ["This device has a passkey already", "Use that passkey, or another device."],
  passkey_failed: ["The browser could not use a passkey", "Try another browser, or another way to sign in."],
  storage_forbidden: [
    "This browser blocks site storage",
    "A sign-in with a provider needs site storage. Allow this site to store data, or use another sign-in method.",
  ],
  account_banned: ["The account is banned", ""],
  account_disabled: ["The account is disabled", "An administrator can enable it."],
  mail_not_configured: ["This installation does not send mail", "Ask an administrator to set a password."],
  link_invalid: ["This link is no longer valid", "Links work once and expire. Request a new link."],
  initial_password_expired: [
    "This temporary password has expired",
    "Ask an administrator to set a new password.",
  ],
  insufficient_user_authentication: ["This requires stronger or more recent authentication", ""],
  csrf_failed: ["The session of this browser does not match", "Reload the page, and sign in again."],
  quota_exceeded: ["The quota of this user is used up", "Delete files first."],
  revision_unknown: ["There is no such revision of the policy", ""],
  revision_untrusted: [
    "This revision differs from its published version",
    "The log of the service has the details.",
  ],
  request_under_way: [
    "The same request is still in progress",
    "Wait until it is done, then check the result.",
  ],
  /** The rules that keep records whole, by `rule` of a conflict. */
  rules: /** @type {Record<string, [string, string]>} */ ({
    changed_meanwhile: [
      "Another person has changed this in the meantime",
      "Reload it and repeat your change.",
    ],
    confirmed_address: ["The user has no confirmed email address", ""],
    consistent: ["The stored data is inconsistent", ""],
    directory: ["A directory manages this", "Change it there; the change is synchronised here."],
    fixed: ["This value cannot be changed", ""],
    has_password: ["The account already has a password, or has none yet", ""],
    history: ["The history does not reach back far enough", ""],
    in_use: ["It is still in use", ""],
    invariant: ["This would violate an invariant of the policy", ""],
    kept_out: ["The user is disabled or banned", ""],
    kind_of_account: ["Not available for this kind of account", ""],
    last_administrator: ["This is the last administrator", "At least one enabled user must keep all rights."],
    last_way_in: ["This is your only way to sign in", "Create a passkey first."],
    limit: ["The maximum number is reached", ""],
    missing_setting: ["A setting of the service is missing", ""],
    older_nodes: [
      "Not all nodes support this yet",
      "Try again when all nodes are upgraded. Until then, roles can have neither a start nor an end.",
    ],
    passkey: [
      "This passkey was not accepted",
      "It may have been removed from your account, or the prompt timed out.",
    ],
    unique: ["This is already in use", ""],
    way_back: ["This could not be undone", "It would lock everyone out of the administration of the policy."],
  }),
  self: ["You cannot do this to your own account", "Ask another administrator."],
  /** Where the texts above say all that the service's own does: by code, or by rule of a conflict. */
  complete: new Set([
    ...["login_failed", "account_banned", "account_disabled", "csrf_failed", "precondition_failed"],
    ...["rate_limited", "quota_exceeded", "revision_unknown", "request_under_way", "changed_meanwhile"],
    ...["link_invalid", "mail_not_configured"],
    ...["invariant", "last_administrator", "last_way_in", "way_back", "self", "sign_in_failed"],
    ...["insufficient_user_authentication", "passkey"],
  ]),
  enrolFirst: "Add a second factor to your account first",
  passkeyElsewhere: "Your passkey belongs to another address of this service. Open the console there.",
  notDone: (/** @type {string} */ act) => `Not done: ${act.replace(/\?$/, "")}`,
  bannedUntil: (/** @type {string} */ time) => `The ban ends on ${time}.`,
  needsAny: (/** @type {string} */ codes) => `One of these permissions is required: ${codes}`,
  needsAll: (/** @type {string} */ codes) => `All of these permissions are required: ${codes}`,
  wait: (/** @type {number} */ seconds) => `Try again in ${count(seconds, "second", "seconds")}.`,
  opening: "You can ask for a role to get access.",
  openings: "You can ask for one of these roles to get access.",
  allRoles: "What these roles open",
  askFor: (/** @type {string} */ role) => `Ask for access: ${role}`,
  pendingOne: "The pending request",
  inConsole: "The console failed",
  conflicts: {
    users: "Users",
    children: "Below it",
    roles: "Roles with this permission",
    resources: "Resources it gives access to",
    lockedOut: "Closed to everyone",
    faults: "Errors",
  },
  andMore: (/** @type {number} */ n) => ` and ${n.toLocaleString()} more`,
};

export const CHANGES = {
  member: "Value",
  before: "Before",
  after: "After",
  none: "No value has changed.",
  added: "added",
  removed: "removed",
  changed: "changed",
  unchanged: "unchanged",
};

export const LIVE = {
  follow: "Follow",
  more: (/** @type {number} */ n) => `${count(n, "new entry", "new entries")}`,
};

export const LIFETIMES = /** @type {[number, string][]} */ ([
  [3600, "1 hour"],
  [86_400, "1 day"],
  [604_800, "7 days"],
  [2_592_000, "30 days"],
  [7_776_000, "90 days"],
  [31_536_000, "1 year"],
]);

export const RECORD = {
  tabs: "Parts of this page",
  access: "Effective access",
  history: "History",
};

export const RELATED = { title: "More about this record", signIns: "Sign-ins" };

export const PREVIEW = {
  asking: "Calculating the effects…",
  nothing: "Nobody gains or loses access to anything.",
  demands: (/** @type {string} */ before, /** @type {string} */ after) =>
    `needs ${after || "nothing"} as authentication, instead of ${before || "nothing"}`,
  gains: "Gain access",
  loses: "Lose access",
  opened: "Endpoints",
  noRole: "All signed-in users",
  counts: (/** @type {number} */ users, /** @type {number} */ requests) =>
    `${count(users, "user", "users")}, ${count(requests, "endpoint", "endpoints")}`,
  more: (/** @type {number} */ n) => `and ${n.toLocaleString()} more`,
  keptOut: (/** @type {number} */ users, /** @type {readonly string[]} */ names) => {
    const left = users - names.length;
    const who = names.length
      ? `: ${names.join(", ")}${left ? ` and ${left.toLocaleString()} more` : ""}`
      : "";
    return (
      `It also affects ${count(users, "user who is", "users who are")} disabled or banned${who}. ` +
      "It takes effect for them when they can sign in again."
    );
  },
  sessions: (/** @type {number} */ n) =>
    n
      ? `${count(n, "session has", "sessions have")} to refresh or sign in again.`
      : "No session is affected.",
};
