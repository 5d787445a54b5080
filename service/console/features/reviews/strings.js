// @ts-check
/** The texts of reviews, and of unused rights, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

const people = (/** @type {number} */ n) => count(n, "person", "people");
const assignments = (/** @type {number} */ n) => count(n, "assignment", "assignments");

export const REVIEWS = {
  title: "Reviews",
  text:
    "Reviews confirm that people still need their roles, and revoke roles that they do not need. " +
    "Reviewers cannot decide about their own roles. A closed review cannot be changed.",
  caption: "Reviews of assignments",
  samePerson: (/** @type {string} */ reason) => `You cannot decide about this: ${reason}.`,
  none: "No review has been started yet.",
  begin: "Start a review",
  name: "Title",
  state: "State",
  states: /** @type {Record<string, string>} */ ({ open: "Open", closing: "Closing", closed: "Closed" }),
  deadline: "Deadline",
  author: "Started by",
  created: "Started",
  progress: "Progress",
  forMe: "For you",
  of: (/** @type {number} */ some, /** @type {number} */ all) =>
    `${some.toLocaleString()} of ${all.toLocaleString()} decided`,

  subject: (/** @type {string | null} */ title) => `The review ${title ?? ""}`,
  scopeText: "Scope: assignments that match all filters below. Without filters, all assignments.",
  roles: "Roles",
  users: "Users",
  usersHelp: "User names, separated by commas or spaces.",
  codes: "Permissions",
  codesHelp: "Roles with one of these permissions, wildcards included. Separated by commas or spaces.",
  services: "Services",
  servicesHelp: "Roles that give access to a resource of one of these services.",
  endless: "Only assignments without an end",
  unusedDays: "Not used for days",
  unusedDaysHelp: "No permission of the role was used for this many days.",
  reviewers: "Reviewers",
  reviewersHelp: "User names. Empty: all holders of system:review:decide.",
  code: "Permission of reviewers",
  codeHelp: "An additional permission that reviewers must hold. Empty: only system:review:decide.",
  deadlineHelp: "The review closes automatically at this time.",
  onSilence: "Undecided items",
  silences: /** @type {[string, string][]} */ ([
    ["keep", "are kept"],
    ["revoke", "are revoked at the end"],
  ]),
  apply: "Decisions are applied",
  applies: /** @type {[string, string][]} */ ([
    ["at_end", "when the review closes"],
    ["at_once", "at once"],
  ]),
  preview: "Preview",
  start: "Start",
  startTitle: (/** @type {string} */ title) => `Start the review ${title}?`,
  items: (/** @type {number} */ n) => `It covers ${assignments(n)} in their current state.`,
  findings: (/** @type {number} */ n) =>
    n === 0
      ? "Each of them has an eligible reviewer."
      : `Findings among them: ${n.toLocaleString()}. These have no eligible reviewer, belong to the last ` +
        "administrator, or come from a directory. They are never revoked automatically.",
  nobodySuch: (/** @type {string} */ name) => `There is no user ${name}.`,
  started: (/** @type {string} */ title) => `The review ${title} has started.`,

  tabs: {
    overview: "Review",
    mine: (/** @type {number} */ n) => (n ? `For you (${n.toLocaleString()})` : "For you"),
    items: "All items",
    findings: (/** @type {number} */ n) => (n ? `Findings (${n.toLocaleString()})` : "Findings"),
  },
  details: "The review",
  scope: "Scope",
  everything: "all assignments",
  scopes: {
    roleIds: (/** @type {string} */ names) => `roles: ${names}`,
    userIds: (/** @type {string} */ names) => `users: ${names}`,
    codes: (/** @type {string} */ names) => `roles with ${names}`,
    services: (/** @type {string} */ names) => `roles with access to resources of ${names}`,
    endless: () => "assignments without an end",
    unusedDays: (/** @type {string} */ days) => `not used for ${days} days`,
  },
  holders: "holders of system:review:decide",
  holdersOf: (/** @type {string} */ code) => `who also hold ${code}`,
  only: (/** @type {string} */ names) => `only ${names}`,
  revision: "Policy",
  revisionOf: (/** @type {number} */ n) => `Revision ${n}`,
  closed: "Closed",
  byDeadline: "by its deadline",
  byUser: (/** @type {string} */ user) => `by ${user}`,
  settled: "All settled",
  decided: "Decided",
  undecided: "Undecided",
  settling: (/** @type {number} */ some, /** @type {number} */ all) =>
    `The review is closing: ${some.toLocaleString()} of ${all.toLocaleString()} items are settled. No ` +
    "more decisions are possible.",
  waiting: (/** @type {number} */ n) => `${assignments(n)} wait for your decision.`,
  waitingOne: "1 assignment waits for your decision.",
  nothingWaits: "Nothing waits for your decision.",
  decideNow: "Decide",
  decideAll: (/** @type {number} */ n) => `Decide about ${assignments(n)}`,
  endsAt: "Ends",
  findingsOf: (/** @type {number} */ n) =>
    `${count(n, "item is a finding", "items are findings")}: deal with ${n === 1 ? "it" : "them"} by hand.`,
  showFindings: "Show the findings",

  close: "Close the review",
  closeTitle: (/** @type {string} */ title) => `Close the review ${title}?`,
  closeText: (/** @type {number} */ n, /** @type {boolean} */ revokes) =>
    n === 0
      ? "All items are decided. The decisions are applied and can no longer be changed."
      : `${count(n, "item is undecided: it is", "items are undecided: they are")} ` +
        `${revokes ? "revoked, except for findings" : "kept"}. ` +
        "The decisions are applied and can no longer be changed.",
  closedNow: (/** @type {string} */ title) => `The review ${title} was closed.`,
  closing: (/** @type {string} */ title) => `The review ${title} is closing.`,
  evidence: "Evidence",
  evidenceTitle: "Download the evidence",

  user: "User",
  role: "Role",
  ground: "Reason",
  proposal: "Proposal",
  lastUsed: "Last used",
  neverUsed: "No use is recorded",
  finding: "Finding",
  decision: "Decision",
  outcome: "Outcome",
  decidedFilter: "Decided",
  yesNo: /** @type {[string, string][]} */ ([
    ["true", "Yes"],
    ["false", "Not yet"],
  ]),
  itemsCaption: "Items of the review",
  findingsCaption: "Items that are findings",
  noItems: "The review has no items.",
  noFindings: "Each item has an eligible reviewer.",
  findingsText:
    "Findings are never revoked automatically. Items without an eligible reviewer need a new review " +
    "with another reviewer, or a manual change.",
  more: "Details",
  moreOf: (/** @type {string} */ role, /** @type {string} */ user) => `Details: ${role} of ${user}`,
  grounds: /** @type {Record<string, string>} */ ({
    unused: "Not used",
    used: "Used",
    new: "New",
    user_disabled: "User disabled",
    directory: "By a directory",
    use_not_recorded: "Use not recorded",
  }),
  groundTexts: /** @type {Record<string, string>} */ ({
    unused: "No permission of the role was used in the period of the review.",
    used: "At least one permission of the role was used in the period of the review.",
    new: "The assignment, or the record of its use, is too recent for a proposal.",
    user_disabled: "The user is disabled.",
    directory: "A directory manages this assignment. Change it there.",
    use_not_recorded: "There is no proposal, because use is not recorded.",
  }),
  proposals: /** @type {Record<string, string>} */ ({ keep: "Proposed: keep", revoke: "Proposed: revoke" }),
  noProposal: "No proposal",
  findingTexts: /** @type {Record<string, string>} */ ({
    no_reviewer: "No eligible reviewer",
    last_administrator: "Last administrator",
    directory: "By a directory",
  }),
  verdicts: /** @type {Record<string, string>} */ ({ keep: "Keep", shorten: "Shorten", revoke: "Revoke" }),
  outcomes: /** @type {Record<string, string>} */ ({
    kept: "Kept",
    shortened: "Shortened",
    revoked: "Revoked",
    ended: "Already ended",
    refused: "Refused",
  }),
  bySilence: "automatically, without a decision",

  why: "Reason for the assignment",
  noReason: "No reason was given",
  source: "Source",
  given: "Assigned",
  window: "Valid",
  windowOf: (/** @type {string | null} */ from, /** @type {string | null} */ until) =>
    from ? (until ? `${from} to ${until}` : `from ${from}, no end`) : until ? `until ${until}` : "no end",
  request: "Request",
  opens: "Access given",
  opensCodes: (/** @type {number} */ n) => `Access given: ${count(n, "permission", "permissions")}`,
  opensNothing: "The role has no permissions.",
  statements: "Statements",
  noStatements: "No invariant of the policy concerns it.",
  decisionIds: "Allowed by",

  mineText:
    "Items are grouped by role and proposal reason. A group decision applies to the items that you " +
    "have opened, except those that you exclude.",
  groupOf: (/** @type {string} */ role, /** @type {string} */ ground) => `${role}: ${ground}`,
  group: (/** @type {number} */ n) => people(n),
  open: (/** @type {number} */ n) => `Show ${people(n)}`,
  inGroup: (/** @type {string} */ user) => `Decide about ${user} with the group`,
  seen: (/** @type {number} */ seen, /** @type {number} */ all, /** @type {number} */ out) =>
    `${seen.toLocaleString()} of ${all.toLocaleString()} opened${out ? `, ${out.toLocaleString()} excluded` : ""}`,
  lookFirst: "Open the list first, and check each item.",
  acts: (/** @type {string} */ verdict, /** @type {number} */ n) =>
    n ? `${verdict} ${n.toLocaleString()}` : verdict,
  act: (/** @type {string} */ verdict, /** @type {string} */ user) => `${verdict}: ${user}`,
  moreFollow: (/** @type {number} */ n) => `${n.toLocaleString()} more items follow after these decisions.`,
  nothingForYou: "You have decided about all items you are eligible for.",
  over: "The review is closed. No more decisions are possible.",
  notReviewer: "You are not a reviewer of this review.",

  decisionTitle: (/** @type {string} */ verdict, /** @type {string} */ role, /** @type {string} */ user) =>
    `${verdict} ${role} of ${user}?`,
  decisionsTitle: (/** @type {string} */ verdict, /** @type {string} */ role, /** @type {number} */ n) =>
    `${verdict} ${role} of ${people(n)}?`,
  atEnd: "The decision takes effect when the review closes. Until then you can change it.",
  atOnce: /** @type {Record<string, string>} */ ({
    keep: "The assignment stays as it is. You cannot change this decision.",
    shorten: "The assignment gets its new end at once. You cannot change this decision.",
    revoke: "The role is revoked at once. You cannot change this decision.",
  }),
  reason: "Reason",
  reasonHelp: "Recorded in the evidence.",
  until: "New end",
  untilHelp:
    "Must be before the current end, since a review cannot extend an assignment. If decisions are " +
    "applied when the review closes, it must be after the deadline.",
  confirm: "Preview",
  done: (/** @type {string} */ verdict, /** @type {number} */ n) =>
    `Decided about ${assignments(n)}: ${verdict.toLowerCase()}.`,
};

export const UNUSED = {
  exportOf: (/** @type {string} */ title) => `Export: ${title}`,
  title: "Unused rights",
  text:
    "Rights that existed for the whole period and were not used. A right counts as used when it " +
    "allowed a request in any layer. If two roles of a user have the same permission, both count as " +
    "used.",
  days: "Days",
  show: "Show",
  since: "Not used since",
  recorded: "Use is recorded since",
  notRecorded: "Use is not recorded yet",
  checked: "Smaller roles by",
  checks: /** @type {Record<string, string>} */ ({
    replay: "the decision log: all decisions of the period were evaluated again",
    use: "recorded use only: the decision log is incomplete for this period",
  }),
  young: "Use has been recorded for less than a day, which is too short for results.",
  shorter: (/** @type {number} */ n) =>
    `Use is recorded for ${count(n, "day", "days")} only; the results cover that period.`,
  assignments: "Assignments",
  codes: "Permissions of roles",
  keys: "API keys",
  roles: "Smaller roles",
  none: "Nothing is unused.",
  noSmaller: "No role has permissions to remove.",
  count: (/** @type {string} */ title, /** @type {number} */ n) => `${title} (${n.toLocaleString()})`,
  user: "User",
  role: "Role",
  code: "Permission",
  key: "Key",
  given: "Assigned",
  until: "Until",
  reason: "Reason",
  begins: "Granted since",
  created: "Created",
  used: "Last used",
  never: "Never",
  gives: "Current permissions",
  enough: "Needed permissions",
  recent: "too recent for a result",
  nothing: "nothing",
  review: "Review them",
  reviewRole: (/** @type {string} */ role) => `Review: ${role}`,
  reviewOne: "Review",
  whatIf: "Simulate",
  whatIfOf: (/** @type {string} */ role, /** @type {string} */ code) => `Simulate: ${role} without ${code}`,
  tryIt: "Try it",
  tryOf: (/** @type {string} */ role) => `Try it: ${role}`,
  tryTitle: (/** @type {string} */ role) => `Remove the unused permissions from the role ${role}?`,
  takes: "Removed permissions",
  adds: "Permissions that replace a wildcard",
  save: "Save the smaller role",
  saved: (/** @type {string} */ role) => `The unused permissions were removed from the role ${role}.`,
  more: "Show more",
};
