// @ts-check
/** The texts of the rules by which roles are asked for, in English. Functions take what varies. */
import { count } from "./words.js";

const people = (/** @type {number} */ n) => count(n, "person", "people");

export const RULE = {
  tab: "Request rule",
  none: "This role cannot be requested, because it has no request rule.",
  text:
    "People request the role for a time, others approve it, and it expires. A change of the rule " +
    "publishes a policy revision and closes pending requests as failed.",
  make: "Turn on requests",
  change: "Change",
  end: "Turn off requests",
  title: (/** @type {string} */ role) => `Request rule of ${role}`,
  subject: (/** @type {string} */ role) => `Request rule of ${role}`,
  by: "Who can request it",
  byHelp: "@login: everyone who is signed in. A permission code: its holders.",
  everybody: "everyone who is signed in",
  stages: "Who approves",
  stagesHelp:
    "Each stage needs this number of different people with its permission. All stages must pass, in any order.",
  stage: (/** @type {number} */ place) => `Permission of stage ${place}`,
  approvals: (/** @type {number} */ place) => `People of stage ${place}`,
  addStage: "Add a stage",
  removeStage: (/** @type {number} */ place) => `Remove stage ${place}`,
  needs: (/** @type {number} */ place, /** @type {number} */ approvals) =>
    `Stage ${place}: ${people(approvals)} of`,
  stageText: (/** @type {{code: string, approvals: number}} */ { code, approvals }) =>
    `${people(approvals)} of ${code}`,
  maxDuration: "Longest duration",
  pendingTimeout: "Expires unless approved within",
  reasonRequired: "Requests need a reason",
  reasonShort: "Reason",
  needed: "Required",
  notRequired: "Optional",
  grantRequired: "Approvers must be able to grant the role",
  grantShort: "Approvers",
  grantYes: "must be able to grant every permission of the role",
  grantNo: "need not be able to grant the role",
  assurance: "Authentication of the requester",
  noDemand: "A sign-in",
  emergency: "In an emergency, at once",
  emergencyHelp:
    "The requester gets the role at once, and another person reviews it afterwards. Requires at least two factors.",
  suspended:
    "The role cannot be requested, because it now has permissions that the author of the rule may not " +
    "grant. Save the rule again to allow requests.",
  emergencyYes: "The requester gets the role at once",
  saveTitle: (/** @type {string} */ role) => `Change the request rule of ${role}?`,
  saveText: "Pending requests for the role are closed as failed.",
  saved: (/** @type {string} */ role) => `The request rule of ${role} was saved.`,
  endTitle: (/** @type {string} */ role) => `Turn off requests for ${role}?`,
  endText:
    "Pending requests for the role are closed as failed. Users who have the role keep it until it expires.",
  ended: (/** @type {string} */ role) => `Requests for ${role} are turned off.`,
  updated: "Changed",
};
