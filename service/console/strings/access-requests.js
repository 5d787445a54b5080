// @ts-check
/** The texts of requests for roles and of the rules for them, in English. Functions take what varies. */
import { count, duration } from "./words.js";

const people = (/** @type {number} */ n) => count(n, "person", "people");

export const REQUESTS = {
  title: "Requests",
  text:
    "Who has asked for a role for a time, and what others have decided. Nobody decides about their own request, " +
    "and what is approved ends by itself.",
  captions: {
    mine: "Your requests for roles",
    waiting: "Requests that wait for your decision",
    all: "Requests that you may see",
  },
  tabs: {
    mine: "Yours",
    waiting: (/** @type {number} */ n) => (n ? `Waiting for you (${n.toLocaleString()})` : "Waiting for you"),
    all: "All that you may see",
  },
  none: {
    mine: "You have not asked for a role.",
    waiting: "Nothing waits for your decision.",
    all: "Nobody has asked for a role that you decide about.",
  },
  role: "Role",
  who: "Asked by",
  state: "State",
  created: "Asked",
  how: "For",
  reason: "Reason",
  deadline: "Expires",
  states: /** @type {Record<string, string>} */ ({
    pending: "Waiting",
    approved: "Approved",
    denied: "Denied",
    expired: "Expired",
    cancelled: "Withdrawn",
    failed: "Failed",
  }),
  over: "Has ended",
  emergency: "Emergency",
  open: "To be closed",
  until: (/** @type {string} */ time) => `until ${time}`,
  duration,

  ask: "Ask for a role",
  askRole: (/** @type {string} */ role) => `Ask for the role ${role}`,
  askText: "You get the role once others have approved, for as long as you need it. Then it ends by itself.",
  subject: (/** @type {string | null} */ role) => (role ? `The request for ${role}` : "The request"),
  code: "Role",
  codeHelp: "The code of the role, as a refusal names it.",
  lasts: "It lasts",
  lasting: /** @type {[string, string][]} */ ([
    ["duration", "For a time, from when you get it"],
    ["until", "Until an instant"],
  ]),
  amount: "For how long",
  end: "Until",
  from: "From",
  window: "Given",
  fromHelp: "Empty: as soon as it is approved.",
  reasonHelp: "Those who decide read it.",
  ticket: "Ticket",
  ticketHelp: "The number of a task elsewhere, if there is one.",
  preview: "Preview",
  send: "Ask",
  askTitle: (/** @type {string} */ role) => `Ask for the role ${role}?`,
  askFirst: "You have nothing more until others have approved.",
  askNow:
    "In an emergency you get the role at once. Everybody who may approve is told, and looks at it afterwards.",
  asked: (/** @type {string} */ role) => `You have asked for the role ${role}.`,
  got: (/** @type {string} */ role) => `You have the role ${role}.`,

  titleOf: (/** @type {string} */ role, /** @type {string} */ user) => `${role} for ${user}`,
  request: "Request",
  opens: "What it opens",
  details: "What was asked for",
  refusal: "After the refusal",
  change: "What it changes",
  held: (/** @type {string} */ user) => `Of what the role gives, ${user} holds already:`,
  heldNothing: (/** @type {string} */ user) => `${user} holds nothing of what the role gives.`,
  breaks: "It would break these statements:",
  breaksNothing: "It breaks no statement about the policy.",
  added: "Since it was asked for, the role has come to give more:",
  removed: "Since it was asked for, the role has come to give no more:",
  wouldChange: (/** @type {string} */ user) => `What it adds for ${user}`,
  assignment: "The assignment",
  stages: "Who approves",
  stage: "Stage",
  approver: "Holders of",
  counted: "Approved",
  of: (/** @type {number} */ counted, /** @type {number} */ all) => `${counted} of ${people(all)}`,
  passed: "Passed",
  anyOrder: "All stages must pass, in any order. A person counts in one stage, once.",
  atOnce: "Nobody has to approve in an emergency. Somebody else closes it afterwards, with a reason.",

  samePerson: (/** @type {string} */ reason) => `You may not approve or close this: ${reason}.`,
  approve: "Approve",
  deny: "Deny",
  withdraw: "Withdraw",
  close: "Close the emergency",
  decisionReason: "Reason",
  decisionReasonHelp: "Kept with the request. Who has asked reads it.",
  earlier: "Earlier end",
  earlierHelp: "Empty: as it was asked for. You may shorten it, not lengthen it.",
  approveTitle: (/** @type {string} */ role, /** @type {string} */ user) => `Approve ${role} for ${user}`,
  approveSure: (/** @type {string} */ role, /** @type {string} */ user) => `Approve ${role} for ${user}?`,
  given: "With your approval all stages have passed.",
  givenLater: (/** @type {string} */ from) =>
    `With your approval all stages have passed. The role begins at ${from}: all approvals are decided again then.`,
  others: "Others have to approve as well before anything changes.",
  denyTitle: (/** @type {string} */ role, /** @type {string} */ user) => `Deny ${role} for ${user}?`,
  denyText: "One denial ends the request for good.",
  withdrawTitle: (/** @type {string} */ role) => `Withdraw the request for ${role}?`,
  withdrawText: "It ends for good. You can ask again.",
  closeTitle: (/** @type {string} */ role, /** @type {string} */ user) =>
    `Close the emergency of ${user} with ${role}?`,
  closeText:
    "You say that you have looked at it. The role ends at its end, or when somebody ends it earlier.",
  approved: (/** @type {string} */ role, /** @type {string} */ user) =>
    `You have approved ${role} for ${user}.`,
  denied: (/** @type {string} */ role, /** @type {string} */ user) => `You have denied ${role} for ${user}.`,
  withdrawn: (/** @type {string} */ role) => `The request for ${role} was withdrawn.`,
  closed: (/** @type {string} */ user) => `The emergency of ${user} was closed.`,

  story: "What happened",
  steps: {
    refused: (/** @type {string} */ user) => `${user} was refused`,
    refusedBefore: (/** @type {string} */ user) => `${user} was refused something`,
    asked: (/** @type {string} */ user, /** @type {string} */ role) => `${user} asked for the role ${role}`,
    decisions: {
      approve: (/** @type {string} */ user) => `${user} approved`,
      deny: (/** @type {string} */ user) => `${user} denied`,
    },
    closed: (/** @type {string} */ user) => `${user} closed the emergency`,
    inStages: (/** @type {readonly number[]} */ stages) =>
      `${stages.length === 1 ? "stage" : "stages"} ${stages.join(", ")}`,
    noLonger: (/** @type {string} */ until) => `no longer than ${until}`,
    expired: "Nobody had approved in time: the request expired",
    cancelled: (/** @type {string} */ user) => `${user} withdrew the request`,
    failed: "The role could not be given",
    expires: "The request expires, if it is not approved",
    given: (/** @type {string} */ user) => `${user} got the role`,
    begins: "The role begins",
    waits: "The role begins, if all who have approved may still do so",
    ends: "The role ends by itself",
    ended: "The role ended by itself",
    revoked: (/** @type {string} */ user) => `The role was ended early by ${user}`,
    done: (/** @type {string} */ user) => `What ${user} did meanwhile`,
  },
  decisionId: "Decision",

  ending: "Roles that end",
  endingText: "What you have for a time, and how long it lasts.",
  left: (/** @type {number} */ seconds) => {
    const [days, hours, minutes] = [86_400, 3600, 60].map((size) => Math.floor(seconds / size));
    if (days > 1) return `${count(days, "day", "days")} left`;
    if (hours > 0) return `${hours} h ${minutes % 60} min left`;
    return minutes > 0 ? `${minutes} min ${seconds % 60} s left` : `${seconds} s left`;
  },
  gone: "ended",
};

export const RULE = {
  tab: "How it is asked for",
  none: "Nobody can ask for this role: it has no rule.",
  text:
    "People ask for the role for a time, others approve, and it ends by itself. A change of the rule publishes a " +
    "revision of the policy, and ends the requests that wait as failed.",
  make: "Let it be asked for",
  change: "Change",
  end: "Let nobody ask",
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
  endTitle: (/** @type {string} */ role) => `Let nobody ask for ${role}?`,
  endText: "Requests for the role that wait now end as failed. Who has the role keeps it until its end.",
  ended: (/** @type {string} */ role) => `Nobody can ask for ${role} any more.`,
  updated: "Changed",
};
