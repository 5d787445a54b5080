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
  gives: "gives the code",
  has: "has the role",
  holds: "holds the code",
  who: "Who asks",
  access: (/** @type {string} */ who, /** @type {string} */ request, /** @type {string} */ outcome) =>
    `The way of ${who} to ${request}: ${outcome}`,
  time: "Time",
  kind: "Kind",
  what: "What",
};

export const ACTIVITY = {
  title: "Activity",
  card: "The last 24 hours",
  all: "Seven days",
  text: "Sign-ins, refusals and logged operations of all nodes by hour. An hour has its own numbers in the table.",
  span: "Span",
  spans: /** @type {[string, string][]} */ ([
    ["24", "24 hours"],
    ["72", "3 days"],
    ["168", "7 days"],
  ]),
  hour: "Hour",
  name: (/** @type {number} */ hours) =>
    `Sign-ins, refusals and operations in the last ${count(hours, "hour", "hours")}`,
  kinds: {
    logins: "Sign-ins",
    loginFailures: "Failed sign-ins",
    allowed: "Logged operations",
    refused: "Refused requests",
  },
};
