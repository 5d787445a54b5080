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
    "The service could not read this request",
    "This is an error of the console or of something in between.",
  ],
  401: ["You are not signed in", "Your session has ended. Sign in to go on."],
  403: ["You may not do this", "Your permissions do not allow it, or do not reach far enough."],
  404: ["There is nothing here", "It may have been deleted, or you may not see it."],
  409: ["This conflicts with what is stored", NOT_SAVED],
  412: ["Somebody else has changed this meanwhile", "Nothing was saved, and nothing that you typed is lost."],
  413: ["This is too large", NOT_SAVED],
  415: ["This kind of file is not accepted", NOT_SAVED],
  422: ["Some values break a rule", NOT_SAVED],
  429: ["Too many attempts", "The service takes more of them after a while."],
  500: ["The service failed", "The log of the service has the details under the id of the request."],
  503: [
    "The service is out of reach for the moment",
    "A store that it needs does not answer. This usually passes.",
  ],
  other: ["The service refused this", ""],
  /**
   * Codes that say more than their status. The console's own: `outdated` when the file of a view can't be loaded,
   * `elsewhere` for a redirect.
   */
  outdated: [
    "This page can't be loaded",
    "The service is out of reach, or it has been upgraded. Trying again loads the console anew.",
  ],
  elsewhere: [
    "The console can't fetch this file",
    "The object store sends it. Somebody who may share files can make a link to it.",
  ],
  login_failed: ["The user name or the password is wrong", ""],
  sign_in_failed: ["The sign-in with the provider did not work", "Try again, or use a password."],
  passkey_not_used: [
    "No passkey was used",
    "The browser was stopped, has waited too long, or has none for this.",
  ],
  passkey_known: ["This device has a passkey already", "Use that one, or another device."],
  passkey_failed: ["The browser could not use a passkey", "Try another browser, or another way to sign in."],
  storage_forbidden: [
    "This browser stores nothing for this site",
    "A sign-in with a provider needs that until you come back. Allow this site to store data, or sign in otherwise.",
  ],
  account_banned: ["The account is banned", ""],
  account_disabled: ["The account is disabled", "An administrator can enable it."],
  mail_not_configured: ["This installation sends no mail", "Ask an administrator to set a password."],
  link_invalid: ["This link is not valid any more", "It works once, and for a while. Ask for another one."],
  initial_password_expired: [
    "This password was to be changed soon, and has expired",
    "An administrator can set another one.",
  ],
  insufficient_user_authentication: ["This needs a stronger or more recent proof that it is you", ""],
  csrf_failed: ["The browser's session does not match", "Reload the page, and sign in again."],
  quota_exceeded: ["The quota of this user is used up", "Delete files first."],
  revision_unknown: ["There is no such revision of the policy", ""],
  revision_untrusted: ["This revision is not as it was published", "The log of the service has the details."],
  request_under_way: ["The same request is under way", "Wait for its end, and look at the result."],
  /** The rules that keep records whole, by `rule` of a conflict. */
  rules: /** @type {Record<string, [string, string]>} */ ({
    changed_meanwhile: ["Somebody else has changed this meanwhile", "Read it again, and repeat your change."],
    confirmed_address: ["The user has no confirmed email address", ""],
    consistent: ["What is stored does not fit together", ""],
    directory: ["A directory manages this", "It is changed there, and comes here by itself."],
    fixed: ["This value never changes", ""],
    has_password: ["There is a password already, or none yet", ""],
    history: ["The history does not have what this needs", ""],
    in_use: ["It is still in use", ""],
    invariant: ["This would break what must stay true", ""],
    kept_out: ["The user is disabled or banned", ""],
    kind_of_account: ["This kind of account does not have it", ""],
    last_administrator: ["This is the last administrator", "Somebody who is enabled has to keep all rights."],
    last_way_in: ["This is your only way to sign in", "Make a passkey first."],
    limit: ["There are as many as there may be", ""],
    missing_setting: ["A setting of the service is missing", ""],
    older_nodes: [
      "Not all parts of the service know this yet",
      "Try again once the upgrade of all nodes is done. Until then roles have no beginning and no end.",
    ],
    passkey: [
      "This passkey was not accepted",
      "It may have been removed from your account, or it took too long.",
    ],
    unique: ["This is taken already", ""],
    way_back: ["Nobody could take this back", "It would close to everybody what administers the policy."],
  }),
  self: ["Nobody does this to their own account", "Ask another administrator."],
  /** Where the texts above say all that the service's own does: by code, or by rule of a conflict. */
  complete: new Set([
    ...["login_failed", "account_banned", "account_disabled", "csrf_failed", "precondition_failed"],
    ...["rate_limited", "quota_exceeded", "revision_unknown", "request_under_way", "changed_meanwhile"],
    ...["link_invalid", "mail_not_configured"],
    ...["invariant", "last_administrator", "last_way_in", "way_back", "self", "sign_in_failed"],
    ...["insufficient_user_authentication", "passkey"],
  ]),
  enrolFirst: "Add a second factor to your account first",
  passkeyElsewhere: "Your passkey works at another address of this service: open the console there.",
  notDone: (/** @type {string} */ act) => `Not done: ${act.replace(/\?$/, "")}`,
  bannedUntil: (/** @type {string} */ time) => `The ban ends on ${time}.`,
  needsAny: (/** @type {string} */ codes) => `Any one of these permissions would do: ${codes}`,
  needsAll: (/** @type {string} */ codes) => `All of these permissions are needed: ${codes}`,
  wait: (/** @type {number} */ seconds) => `Try again in ${count(seconds, "second", "seconds")}.`,
  opening: "You may ask for a role that opens this.",
  openings: "You may ask for a role that opens this. Any one of these would do.",
  askFor: (/** @type {string} */ role) => `Ask for access: ${role}`,
  pendingOne: "The request that waits",
  inConsole: "The console failed",
  conflicts: {
    users: "Users",
    children: "Below it",
    roles: "Roles that give it",
    resources: "Resources that it opens",
    lockedOut: "Closed to everybody",
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
  [31_536_000, "1 year"],
]);

export const RECORD = {
  tabs: "Parts of this page",
  access: "Effective access",
  history: "History",
};

export const RELATED = {
  title: "More about this record",
  signIns: "Sign-ins",
};

export const PREVIEW = {
  asking: "Working out what this would change…",
  nothing: "Nobody gains or loses access to anything.",
  demands: (/** @type {string} */ before, /** @type {string} */ after) =>
    `needs ${after || "nothing"} as authentication, instead of ${before || "nothing"}`,
  gains: "Gain access",
  loses: "Lose access",
  opened: "Requests",
  noRole: "Users by their login alone",
  counts: (/** @type {number} */ users, /** @type {number} */ requests) =>
    `${count(users, "user", "users")}, ${count(requests, "request", "requests")}`,
  more: (/** @type {number} */ n) => `and ${n.toLocaleString()} more`,
  keptOut: (/** @type {number} */ users, /** @type {readonly string[]} */ names) => {
    const left = users - names.length;
    const who = names.length
      ? `: ${names.join(", ")}${left ? ` and ${left.toLocaleString()} more` : ""}`
      : "";
    return (
      `It also concerns ${count(users, "user who is", "users who are")} disabled or banned${who}. ` +
      "It has no effect for them until they may sign in again."
    );
  },
  sessions: (/** @type {number} */ n) =>
    n
      ? `${count(n, "session has", "sessions have")} to refresh or sign in again.`
      : "No session is affected.",
};
