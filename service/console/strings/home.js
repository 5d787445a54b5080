// @ts-check
/** The texts of the home page, in English. Functions take what varies. */
import { count } from "./words.js";

export const HOME = {
  title: (/** @type {string} */ name) => `Hello, ${name}`,
  nothing: "There is nothing on this page for your roles.",
  own: "Your account",
  latest: "Latest changes of rights",
  allChanges: "All changes of rights",
  noChanges: "No rights were changed yet.",
  refusals: "Refused most often",
  allRefusals: "All refusals",
  noRefusals: "Nothing was refused in the last seven days.",
  refusalsText: (/** @type {number} */ n) =>
    `Of the last ${count(n, "refusal", "refusals")} within seven days.`,
  restored: "Restored from a backup",
  restoredText:
    "New ids and the policy revision are much higher than before: those that may have been given after the backup " +
    "are left out.",
  restoredEntry: "Show the entry",
  times: (/** @type {number} */ n) => count(n, "time", "times"),
  explain: "Explain",
  explainOf: (/** @type {string} */ what) => `Explain: ${what}`,
};

export const ATTENTION = {
  title: "What needs attention",
  fine: "Nothing needs attention.",
  roleless: (/** @type {number} */ n) => `${count(n, "enabled user has", "enabled users have")} no role`,
  rolelessText: "Without a role, a user can sign in and do nothing else.",
  rolelessAct: "Show these users",
  unused: (/** @type {number} */ n) => `${count(n, "role is", "roles are")} given to nobody`,
  unusedText: "Give each to somebody, disable or delete it.",
  unusedAct: "Show these roles",
  closed: (/** @type {number} */ n) => `${count(n, "resource is", "resources are")} closed to everybody`,
  closedText: "No enabled Button is bound, and there is no public access.",
  closedAct: "Show these resources",
  names: (/** @type {string[]} */ names, /** @type {number} */ total) =>
    `${names.join(", ")}${total > names.length ? ", …" : ""}`,
  check: (/** @type {string} */ name) => (name[0] ?? "").toUpperCase() + name.slice(1).replaceAll("-", " "),
  /** What to do about the finding of a check, where the console can. */
  acts: /** @type {Record<string, [path: string, text: string]>} */ ({
    "first-administrator": ["/users/{user}", "Set a password"],
    "api-keys": ["/users/{user}/keys", "Renew the key"],
    administrators: ["/users?roleCode=super", "Show administrators"],
    "role-ends": ["/assignments?endless=false&sort=until", "Show assignments"],
    "role-demands": ["/users/{user}/roles", "Show the user's roles"],
    jobs: ["/jobs", "Show jobs"],
    routes: ["/resources/coverage", "Show coverage"],
    "permission-codes": ["/menus", "Show permissions"],
    "policy-tampering": ["/policy/revisions", "Show revisions"],
    "published-policy": ["/policy/revisions", "Show revisions"],
  }),
  changeOwn: "Change the password",
  details: "Details",
};

export const STEPS = {
  title: "First steps",
  text: "This installation is new. The list goes when all of it is done.",
  done: "Done",
  left: "To do",
  dismiss: "Hide this list",
  names: /** @type {Record<string, [text: string, help: string, act: string]>} */ ({
    password: [
      "Change the first password",
      "The first start has printed it, and logs may hold it.",
      "Change the password",
    ],
    role: ["Create a role", "It says what its users may do.", "New role"],
    user: ["Create a user", "Give them the role, and no more than they need.", "New user"],
    resource: [
      "Register a resource",
      "A route of your own services, by hand or from an OpenAPI document.",
      "Import resources",
    ],
    explain: ["See why a request is allowed or refused", "Each decision has an explanation.", "Explain"],
    backup: ["Make a backup", "portcullis backup makes one; run it regularly.", "How to back up"],
  }),
};

export const RIGHTS = {
  title: "What you may do",
  nothing: "Your own account only. An administrator can give you a role.",
  roles: "Roles",
  noRoles: "No roles",
  all: (/** @type {string} */ area) => (area ? `everything below ${area}` : "everything"),
  actions: /** @type {Record<string, string>} */ ({
    list: "list",
    detail: "read",
    create: "create",
    update: "edit",
    delete: "delete",
    permission: "set permissions",
    key: "manage API keys",
    bind: "bind to Buttons",
    open: "open to everybody",
    resources: "administer their resources",
    evaluate: "ask for decisions",
    introspect: "introspect tokens",
    kick: "end sessions",
    "reset-password": "reset passwords",
  }),
};
