// @ts-check
/** The texts of the home page, in English. Functions take what varies. */
import { count } from "./words.js";

export const HOME = {
  title: (/** @type {string} */ name) => `Hello, ${name}`,
  waiting: "Waiting for you",
  endings: "Your roles that end",
  own: "Your account",
  latest: "Latest changes of rights",
  allChanges: "All changes of rights",
  noChanges: "No rights have been changed yet.",
  refusals: "Refused most often",
  allRefusals: "All refusals",
  noRefusals: "No request was refused in the last seven days.",
  refusalsText: (/** @type {number} */ n) => `The last ${count(n, "refusal", "refusals")} within seven days.`,
  restored: "Restored from a backup",
  restoredText:
    "New ids and the policy revision start much higher, so that values used after the backup are not used again.",
  restoredEntry: "Show the entry",
  times: (/** @type {number} */ n) => count(n, "time", "times"),
  explain: "Explain",
  explainOf: (/** @type {string} */ what) => `Explain: ${what}`,
};

export const ATTENTION = {
  title: "What needs attention",
  fine: "Nothing needs attention.",
  guide: "Guide",
  roleless: (/** @type {number} */ n) => `${count(n, "enabled user has", "enabled users have")} no role`,
  rolelessText: "A user without a role can only sign in.",
  rolelessAct: "Show these users",
  unused: (/** @type {number} */ n) => `${count(n, "role has", "roles have")} no users`,
  unusedText: "Assign each role to a user, or disable or delete it.",
  unusedAct: "Show these roles",
  closed: (/** @type {number} */ n) => `${count(n, "resource is", "resources are")} closed to everyone`,
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
  taken: (/** @type {number} */ n, /** @type {number} */ all) => `${n} of ${all} steps done`,
  done: "Done",
  left: "To do",
  dismiss: "Hide",
  names: /** @type {Record<string, [text: string, help: string, act: string]>} */ ({
    password: [
      "Change the first password",
      "The first start printed it, so logs may contain it.",
      "Change the password",
    ],
    role: ["Create a role", "A role determines what its users can do.", "New role"],
    user: ["Create a user", "Assign the role, and nothing beyond what the user needs.", "New user"],
    resource: [
      "Register a resource",
      "A route of your own services, by hand or from an OpenAPI document.",
      "Import resources",
    ],
    explain: ["See why a request is allowed or refused", "Each decision has an explanation.", "Explain"],
    backup: ["Make a backup", "Run portcullis backup regularly.", "How to back up"],
  }),
};

export const RIGHTS = {
  title: "Your permissions",
  nothing: "You can only manage your own account. An administrator can assign you a role.",
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
    open: "open to everyone",
    resources: "administer their resources",
    evaluate: "ask for decisions",
    introspect: "introspect tokens",
    kick: "end sessions",
    "reset-password": "reset passwords",
  }),
};
