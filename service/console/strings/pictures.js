// @ts-check
/** The texts of pictures, in English. Functions take what varies. */
import { count } from "./words.js";

export const PICTURES = {
  asTable: "Show as table",
  tableOf: (/** @type {string} */ name) => `${name} (table)`,
  number: "Number",
  part: "Share",
  share: (/** @type {string} */ title, /** @type {string[]} */ parts) => `${title}: ${parts.join(", ")}`,
  more: (/** @type {number} */ n) => `and ${n.toLocaleString()} more`,
  from: "From",
  to: "To",
  meaning: "By",
  gives: "gives the permission",
  has: "has the role",
  holds: "holds the permission",
  who: "Caller",
  access: (/** @type {string} */ who, /** @type {string} */ request, /** @type {string} */ outcome) =>
    `Path from ${who} to ${request}: ${outcome}`,
  time: "Time",
  kind: "Kind",
  what: "What",
};

export const ACTIVITY = {
  title: "Activity",
  card: "The last 24 hours",
  all: "Seven days",
  text:
    "Sign-ins, refusals and logged operations of all nodes by hour, or by day for more than a week. " +
    "The table has the numbers.",
  span: "Span",
  spans: /** @type {[string, string][]} */ ([
    ["24", "24 hours"],
    ["72", "3 days"],
    ["168", "7 days"],
    ["720", "30 days"],
    ["2160", "90 days"],
  ]),
  hour: "Hour",
  day: "Day",
  ofDays: (/** @type {number} */ days) =>
    `Sign-ins, refusals and operations of ${count(days, "day", "days")}, by day`,
  name: (/** @type {number} */ hours) =>
    `Sign-ins, refusals and operations in the last ${count(hours, "hour", "hours")}`,
  kinds: {
    logins: "Sign-ins",
    loginFailures: "Failed sign-ins",
    allowed: "Logged operations",
    refused: "Refused requests",
  },
};

export const HISTORY = {
  title: "Changes by time",
  text:
    "Policy revisions, and changes of rights, users and roles. Shows the last 30 days, unless the " +
    "filters below set a period.",
  name: "Changes of the policy, of users and of roles by time",
  nothing: "There are no changes in this period.",
  revisions: "Revisions of the policy",
  rights: {
    given: "Roles of users",
    gives: "Permissions of roles",
    binds: "Bound Buttons and public access",
  },
  others: "Other changes of users and roles",
  nameOf: (/** @type {string} */ target) => `Changes of ${target} by time`,
  ofRights: "Changes of rights",
  otherwise: "Other changes",
  revision: (/** @type {number} */ n, /** @type {string} */ cause, /** @type {string | null} */ by) =>
    `Revision ${n}: ${cause}${by && !cause.endsWith(` by ${by}`) ? `, by ${by}` : ""}`,
};
