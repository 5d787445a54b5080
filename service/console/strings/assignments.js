// @ts-check
/** The texts of the roles of users as assignments, in English. Functions take what varies. */
import { duration } from "./words.js";

export const ASSIGNMENTS = {
  title: "Assignments",
  text: "Roles of users, with start, end and reason. Ended assignments are shown on the page of the user.",
  caption: "Assignments of roles to users",
  ofUser: "Roles of this user",
  tab: "Roles",
  user: "User",
  role: "Role",
  choose: "Choose a role",
  from: "From",
  fromHelp: "Leave empty to start now. A later start is approved now and not checked again.",
  until: "Until",
  untilHelp: "The role expires at this time. Leave empty for no end.",
  reason: "Reason",
  reasonHelp: "Shown to reviewers of the roles.",
  source: "Source",
  sources: /** @type {Record<string, string>} */ ({
    direct: "Administrator",
    request: "Request",
    directory: "Directory",
  }),
  decided: "Assigned",
  always: "Unknown",
  noEnd: "No end",
  begins: "Begins later",
  soon: "Ends soon",
  how: /** @type {Record<string, string>} */ ({ expired: "Expired", revoked: "Ended early" }),
  withEnded: "Include ended",
  endsBefore: "Ends before",
  endless: "End",
  some: "With an end",
  none: "This user has no roles.",
  nobody: "No user has a role.",
  maxDuration: (/** @type {number} */ seconds) => `At most ${duration(seconds)}; an end is required.`,
  reasonRequired: "A reason is required.",
  preview: "Preview",
  assign: "Assign a role",
  assignTitle: (/** @type {string} */ user) => `Assign a role to ${user}`,
  confirmTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    `Assign the role ${role} to ${user}?`,
  later: "These changes take effect when the role starts.",
  assigned: (/** @type {string} */ role, /** @type {string} */ user) => `User ${user} got the role ${role}.`,
  change: "Change",
  changeOne: (/** @type {string} */ role) => `Change: ${role}`,
  changeTitle: (/** @type {string} */ role, /** @type {string} */ user) => `The role ${role} of ${user}`,
  saveTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    `Change the assignment of ${role} to ${user}?`,
  subject: (/** @type {string} */ role) => `The assignment of ${role}`,
  changed: (/** @type {string} */ role, /** @type {string} */ user) =>
    `The assignment of ${role} to ${user} was changed.`,
  end: "End now",
  endOne: (/** @type {string} */ role) => `End now: ${role}`,
  endTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    `End the role ${role} of ${user} now?`,
  endText:
    "The ended assignment stays on record, with the time and your name. To restore it, assign the role again.",
  ended: (/** @type {string} */ role, /** @type {string} */ user) => `The role ${role} of ${user} has ended.`,
  by: (/** @type {string} */ name) => `by ${name}`,
};
