// @ts-check
/**
 * The navigation of the console. An entry is shown to those who may see the view that its path leads to. Views of
 * features bring entries of their own.
 */
import { h, icon } from "./core/dom.js";
import { ENTRIES as T, FRAME, GROUPS } from "./strings/frame.js";

/** The path of the entry that says how many findings there are. */
export const HEALTH = "/doctor";
/** The path of the entry that says how many requests wait for the caller. */
export const REQUESTS = "/access-requests";

/** @typedef {[path: string, text: string, icon: string]} Entry */
/** @typedef {[title: string, entries: Entry[]]} Group */

/** The groups with their entries: the path of a view without parameters, the text, and the icon. @type {Group[]} */
const GROUPED = [
  [
    GROUPS.access,
    [
      ["/users", T.users, "user"],
      ["/service-accounts", T.serviceAccounts, "bot"],
      ["/roles", T.roles, "shield"],
      ["/assignments", T.assignments, "clock"],
      [REQUESTS, T.requests, "check"],
      ["/menus", T.permissions, "key"],
    ],
  ],
  [
    GROUPS.policy,
    [
      ["/policy/explain", T.explain, "help"],
      ["/policy/who", T.who, "search"],
      ["/policy/what", T.what, "list"],
      ["/policy/what-if", T.whatIf, "edit"],
      ["/policy/matrix", T.matrix, "grid"],
      ["/policy/revisions", T.revisions, "clock"],
      ["/policy/openings", T.openings, "globe"],
    ],
  ],
  [
    GROUPS.endpoints,
    [
      ["/resources", T.resources, "link"],
      ["/services", T.services, "server"],
      ["/resources/coverage", T.coverage, "scale"],
    ],
  ],
  [
    GROUPS.activity,
    [
      ["/changes", T.changes, "clock"],
      ["/activity", T.activity, "activity"],
      ["/logs/operations", T.auditLog, "edit"],
      ["/logs/logins", T.signIns, "log-in"],
      ["/online", T.sessions, "device"],
    ],
  ],
  [
    GROUPS.system,
    [
      ["/files", T.files, "file"],
      ["/jobs", T.jobs, "refresh"],
      ["/mails", T.mails, "mail"],
      [HEALTH, T.health, "stethoscope"],
    ],
  ],
];

/**
 * Return a view whose readers may call an operation, all users without one.
 * @param {string} pattern
 * @param {import("./types/view").View["load"]} load
 * @param {string} [operation]
 * @param {import("./types/view").Entry} [entry]
 * @returns {import("./types/view").View}
 */
export const view = (pattern, load, operation, entry) => ({ pattern, load, operation, entry });

/**
 * Return the groups with the entries of the core, and those of `views` that bring some.
 * @param {import("./types/view").View[]} views
 */
export function navigationOf(views) {
  return GROUPED.map(([title, entries]) => /** @type {Group} */ ([title, joined(entries, views)]));
}

/**
 * Return `own`, with each entry of a view placed after the entry that it names.
 * @param {Entry[]} own @param {import("./types/view").View[]} views
 */
function joined(own, views) {
  const entries = [...own];
  for (const { pattern, entry } of views) {
    const place = entries.findIndex(([path]) => path === entry?.after) + 1;
    if (entry && place) entries.splice(place, 0, [pattern, entry.text, entry.icon]);
  }
  return entries;
}

/** The path of the notices; the account menu shows their number. */
export const NOTICES = "/account/notices";

/** The pages about the caller's own account. @type {Entry[]} */
const OWN = [
  ["/account", FRAME.account, "user"],
  ["/account/factors", FRAME.factors, "key"],
  [NOTICES, FRAME.notices, "bell"],
  ["/account/devices", FRAME.devices, "device"],
  ["/account/sign-ins", FRAME.logins, "log-in"],
];

/**
 * Return the pages about the caller's own account, with those of `views`.
 * @param {import("./types/view").View[]} views
 */
export function ownOf(views) {
  return joined(OWN, views);
}

/** Pages of the guide by the addresses of views; a page also serves the addresses below. */
const PAGES_OF_GUIDE = /** @type {Record<string, string>} */ ({
  "/": "guides/console.html#find-your-way",
  "/access-requests": "guides/asking-for-access.html",
  "/account": "guides/second-factors.html",
  "/account/approvals": "reference/agents.html#approve-a-call",
  "/account/delegations": "reference/agents.html#delegate",
  "/account/keys": "reference/personal-keys.html",
  "/activity": "guides/console.html#audit-log-and-sign-ins",
  "/assignments": "guides/access-for-a-time.html",
  "/directories": "guides/provision-from-a-directory.html",
  "/doctor": "guides/check-health.html",
  "/files": "guides/upload-and-share-a-file.html",
  "/jobs": "guides/operating.html",
  "/logs": "guides/console.html#audit-log-and-sign-ins",
  "/mails": "guides/mail.html",
  "/menus": "guides/add-a-permission.html",
  "/online": "guides/console.html#sessions-and-api-keys",
  "/policy": "guides/console.html#policy",
  "/policy/revisions": "guides/review-a-change.html",
  "/resources": "guides/add-endpoints.html",
  "/reviews": "guides/reviewing.html",
  "/roles": "guides/console.html#roles",
  "/roles/import": "guides/tables.html",
  "/service-accounts": "reference/service-accounts.html",
  "/services": "guides/guard-a-service.html",
  "/users": "guides/console.html#users",
  "/users/import": "guides/tables.html",
});

/** Return the link to the guide of the view with an address; null where no guide is installed. @param {string} path */
export function guideTo(path) {
  const { guide } = document.documentElement.dataset;
  const [place] = Object.keys(PAGES_OF_GUIDE)
    .filter((each) => path === each || (each !== "/" && path.startsWith(`${each}/`)))
    .sort((a, b) => b.length - a.length);
  if (!guide || !place) return null;
  return h(
    "a",
    {
      class: "button square quiet",
      href: `${guide}/${PAGES_OF_GUIDE[place]}`,
      target: "_blank",
      rel: "noopener",
      "aria-label": FRAME.guideHere,
      title: FRAME.guideHere,
    },
    icon("help"),
  );
}
