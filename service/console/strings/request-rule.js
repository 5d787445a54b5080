// @ts-check
/** The texts of the rules by which roles are asked for, in English. Functions take what varies. */
import { count } from "./words.js";

const people = (/** @type {number} */ n) => count(n, "person", "people");

export const RULE = {
  tab: "How it is asked for",
  none: "Nobody can ask for this role: it has no rule.",
  text:
    "People ask for the role for a time, others approve, and it ends by itself. A change of the rule publishes a " +
    "revision of the policy, and ends the requests that wait as failed.",
  make: "Turn on requests",
  change: "Change",
  end: "Turn off requests",
  title: (/** @type {string} */ role) => `How ${role} is asked for`,
  subject: (/** @type {string} */ role) => `How ${role} is asked for`,
  by: "Who may ask",
  byHelp: "@login is everybody who has signed in. A permission lets its holders ask.",
  everybody: "everybody who has signed in",
  stages: "Who approves",
  stagesHelp:
    "Each stage needs so many different people who hold its permission. All stages must pass, in any order.",
  stage: (/** @type {number} */ place) => `Permission of stage ${place}`,
  approvals: (/** @type {number} */ place) => `People of stage ${place}`,
  addStage: "Add a stage",
  removeStage: (/** @type {number} */ place) => `Remove stage ${place}`,
  needs: (/** @type {number} */ place, /** @type {number} */ approvals) =>
    `Stage ${place}: ${people(approvals)} of`,
  stageText: (/** @type {{code: string, approvals: number}} */ { code, approvals }) =>
    `${people(approvals)} of ${code}`,
  maxDuration: "Given for at most",
  pendingTimeout: "Expires unless approved within",
  reasonRequired: "Asking needs a reason",
  reasonShort: "Reason",
  needed: "Needed",
  notNeeded: "Not needed",
  grantNeeded: "Who approves must be able to grant the role",
  grantShort: "Those who approve",
  grantYes: "must be able to grant every permission of the role",
  grantNo: "need not be able to grant the role",
  assurance: "Authentication of who asks",
  noDemand: "A sign-in",
  emergency: "In an emergency, at once",
  emergencyHelp:
    "Who may ask gets the role at once, and somebody else looks at it afterwards. Needs two factors at least.",
  suspended:
    "Nobody can ask for the role: it has come to give what the author of the rule may not grant. " +
    "Save the rule again to let people ask.",
  emergencyYes: "Who may ask gets the role at once",
  saveTitle: (/** @type {string} */ role) => `Change how ${role} is asked for?`,
  saveText: "Requests for the role that wait now end as failed.",
  saved: (/** @type {string} */ role) => `How ${role} is asked for was saved.`,
  endTitle: (/** @type {string} */ role) => `Turn off requests for ${role}?`,
  endText: "Requests for the role that wait now end as failed. Who has the role keeps it until its end.",
  ended: (/** @type {string} */ role) => `Requests for ${role} are turned off.`,
  updated: "Changed",
};
