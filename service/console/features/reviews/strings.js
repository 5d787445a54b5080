// @ts-check
/** The texts of reviews, of unused rights and of changes, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

const people = (/** @type {number} */ n) => count(n, "person", "people");
const assignments = (/** @type {number} */ n) => count(n, "assignment", "assignments");

export const REVIEWS = {
  title: "Reviews",
  text:
    "Whether people still need their roles, who says so, and what is taken away. Nobody decides about their own " +
    "roles, and nothing in a review changes once it is closed.",
  caption: "Reviews of assignments",
  samePerson: (/** @type {string} */ reason) => `You may not decide about this: ${reason}.`,
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
  scopeText:
    "What it asks about: assignments that meet all that is given. With nothing given, every assignment.",
  roles: "Roles",
  users: "Users",
  usersHelp: "User names, separated by commas or spaces.",
  codes: "Permissions",
  codesHelp: "Roles that give one of them, also by a wildcard. Separated by commas or spaces.",
  services: "Services",
  servicesHelp: "Roles that open a resource of one of them.",
  endless: "Only assignments without an end",
  unusedDays: "Not used for days",
  unusedDaysHelp: "Nothing that the role gives was needed for so many days, by recorded use.",
  reviewers: "Reviewers",
  reviewersHelp: "User names. Empty: everybody who holds system:review:decide.",
  code: "Permission of reviewers",
  codeHelp: "Who decides must hold it as well. Empty: no other than system:review:decide.",
  deadlineHelp: "Then the review closes by itself.",
  onSilence: "What nobody decides",
  silences: /** @type {[string, string][]} */ ([
    ["keep", "is kept"],
    ["revoke", "is revoked at the end"],
  ]),
  apply: "Decisions are applied",
  applies: /** @type {[string, string][]} */ ([
    ["at_end", "when the review closes"],
    ["at_once", "at once"],
  ]),
  preview: "Preview",
  start: "Start",
  startTitle: (/** @type {string} */ title) => `Start the review ${title}?`,
  items: (/** @type {number} */ n) => `It asks about ${assignments(n)}, as they are now.`,
  findings: (/** @type {number} */ n) =>
    n === 0
      ? "Somebody may decide about each of them."
      : `Findings among them: ${n.toLocaleString()}. Nobody may decide about these, or they are of the last ` +
        "administrator, or a directory gives them. Silence never revokes them.",
  nobodySuch: (/** @type {string} */ name) => `There is no user ${name}.`,
  started: (/** @type {string} */ title) => `The review ${title} has started.`,

  tabs: {
    overview: "Review",
    mine: (/** @type {number} */ n) => (n ? `For you (${n.toLocaleString()})` : "For you"),
    items: "All items",
    findings: (/** @type {number} */ n) => (n ? `Findings (${n.toLocaleString()})` : "Findings"),
  },
  details: "The review",
  scope: "Asks about",
  everything: "all assignments",
  scopes: {
    roleIds: (/** @type {string} */ names) => `roles: ${names}`,
    userIds: (/** @type {string} */ names) => `users: ${names}`,
    codes: (/** @type {string} */ names) => `roles that give ${names}`,
    services: (/** @type {string} */ names) => `roles that open resources of ${names}`,
    endless: () => "assignments without an end",
    unusedDays: (/** @type {string} */ days) => `not used for ${days} days`,
  },
  holders: "holders of system:review:decide",
  holdersOf: (/** @type {string} */ code) => `who hold ${code} as well`,
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
    `The review is closing: ${some.toLocaleString()} of ${all.toLocaleString()} items are settled. ` +
    "Nothing can be decided any more.",
  waiting: (/** @type {number} */ n) => `${assignments(n)} wait for your decision.`,
  waitingOne: "1 assignment waits for your decision.",
  nothingWaits: "Nothing waits for your decision.",
  decideNow: "Decide",
  findingsOf: (/** @type {number} */ n) =>
    `${count(n, "item is a finding", "items are findings")}: deal with ${n === 1 ? "it" : "them"} by hand.`,
  showFindings: "Show the findings",

  close: "Close the review",
  closeTitle: (/** @type {string} */ title) => `Close the review ${title}?`,
  closeText: (/** @type {number} */ n, /** @type {boolean} */ revokes) =>
    n === 0
      ? "All items are decided. What was decided is applied, and nothing can be changed any more."
      : `${count(n, "item is undecided: it is", "items are undecided: they are")} ` +
        `${revokes ? "revoked, except for findings" : "kept"}. What was decided is applied, and nothing can be ` +
        "changed any more.",
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
  noFindings: "Somebody may decide about each item.",
  findingsText:
    "Silence never revokes these. Those that nobody may decide about need another reviewer in a new review, or an " +
    "edit by hand.",
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
    unused: "Nothing that the role gives was needed in the time that the review looks at.",
    used: "Something that the role gives was needed in the time that the review looks at.",
    new: "The assignment, or the record of use, is too young to say.",
    user_disabled: "The user is disabled.",
    directory: "A directory gives it: it is changed there.",
    use_not_recorded: "Nothing is known of use, so nothing is proposed.",
  }),
  proposals: /** @type {Record<string, string>} */ ({ keep: "Proposed: keep", revoke: "Proposed: revoke" }),
  noProposal: "No proposal",
  findingTexts: /** @type {Record<string, string>} */ ({
    no_reviewer: "Nobody may decide",
    last_administrator: "Last administrator",
    directory: "By a directory",
  }),
  verdicts: /** @type {Record<string, string>} */ ({ keep: "Keep", shorten: "Shorten", revoke: "Revoke" }),
  outcomes: /** @type {Record<string, string>} */ ({
    kept: "Kept",
    shortened: "Shortened",
    revoked: "Revoked",
    ended: "Had ended",
    refused: "Refused",
  }),
  bySilence: "by the rule for silence",

  why: "Why it is there",
  noReason: "No reason was given",
  source: "Source",
  given: "Assigned",
  window: "Valid",
  windowOf: (/** @type {string | null} */ from, /** @type {string | null} */ until) =>
    from ? (until ? `${from} to ${until}` : `from ${from}, no end`) : until ? `until ${until}` : "no end",
  request: "Request",
  opens: "What it opens",
  opensCodes: (/** @type {number} */ n) => `What it opens: ${count(n, "permission", "permissions")}`,
  opensNothing: "The role gives no permission.",
  statements: "Statements",
  noStatements: "It takes part in no statement about the policy.",
  decisionIds: "Allowed by",

  mineText:
    "Items of one role with one ground stand together. A decision about a group is made about those that you have " +
    "looked at, without those that you take out.",
  groupOf: (/** @type {string} */ role, /** @type {string} */ ground) => `${role}: ${ground}`,
  group: (/** @type {number} */ n) => people(n),
  open: (/** @type {number} */ n) => `Look at ${people(n)}`,
  inGroup: (/** @type {string} */ user) => `Decide about ${user} with the group`,
  seen: (/** @type {number} */ seen, /** @type {number} */ all, /** @type {number} */ out) =>
    `${seen.toLocaleString()} of ${all.toLocaleString()} looked at${out ? `, ${out.toLocaleString()} taken out` : ""}`,
  seenOne: "Looked at",
  lookFirst: "Look at them first: open the list, and go through it.",
  acts: (/** @type {string} */ verdict, /** @type {number} */ n) =>
    n ? `${verdict} ${n.toLocaleString()}` : verdict,
  act: (/** @type {string} */ verdict, /** @type {string} */ user) => `${verdict}: ${user}`,
  moreFollow: (/** @type {number} */ n) => `${n.toLocaleString()} more follow once these are decided.`,
  nothingForYou: "You have decided about all items that you may decide about.",
  over: "The review is over: nothing can be decided any more.",
  notReviewer: "You are no reviewer of this review.",

  decisionTitle: (/** @type {string} */ verdict, /** @type {string} */ role, /** @type {string} */ user) =>
    `${verdict} ${role} of ${user}?`,
  decisionsTitle: (/** @type {string} */ verdict, /** @type {string} */ role, /** @type {number} */ n) =>
    `${verdict} ${role} of ${people(n)}?`,
  atEnd: "Nothing changes before the review closes. Until then you may decide otherwise.",
  atOnce: /** @type {Record<string, string>} */ ({
    keep: "The assignment stays as it is. You cannot decide otherwise afterwards.",
    shorten: "The assignment gets its new end at once. You cannot decide otherwise afterwards.",
    revoke: "The role is taken at once. You cannot decide otherwise afterwards.",
  }),
  reason: "Reason",
  reasonHelp: "It is part of the evidence.",
  until: "New end",
  untilHelp:
    "Before the end that it has: a review shortens, and never lengthens. After the deadline of a review that " +
    "applies decisions at its end.",
  confirm: "Preview",
  doing: (/** @type {number} */ done, /** @type {number} */ all) =>
    `${done.toLocaleString()} of ${all.toLocaleString()} decided`,
  done: (/** @type {string} */ verdict, /** @type {number} */ n) =>
    `Decided about ${assignments(n)}: ${verdict.toLowerCase()}.`,
  refused: (/** @type {number} */ n) => `Not decided: ${assignments(n)}`,
};

export const UNUSED = {
  title: "Unused rights",
  text:
    "What existed for the whole time and nobody has needed. A right counts as needed when it allowed something, in " +
    "any layer. Of two roles that give one permission, both count as used.",
  days: "Days",
  show: "Show",
  since: "Not used since",
  recorded: "Use is recorded since",
  notRecorded: "Use is not recorded yet",
  checked: "Smaller roles by",
  checks: /** @type {Record<string, string>} */ ({
    replay: "the decision log: each decision of the time was made again",
    use: "recorded use alone: the decision log does not have all decisions of the time",
  }),
  young: "Use has not been recorded for a whole day yet, so nothing can be said.",
  shorter: (/** @type {number} */ n) =>
    `Use is recorded for ${count(n, "day", "days")} only: this is about that time.`,
  assignments: "Assignments",
  codes: "Permissions of roles",
  keys: "API keys",
  roles: "Smaller roles",
  none: "Nothing is unused.",
  noSmaller: "No role can be made smaller.",
  count: (/** @type {string} */ title, /** @type {number} */ n) => `${title} (${n.toLocaleString()})`,
  user: "User",
  role: "Role",
  code: "Permission",
  key: "Key",
  given: "Assigned",
  until: "Until",
  reason: "Reason",
  begins: "Given since",
  created: "Created",
  used: "Last used",
  never: "Never",
  gives: "Gives now",
  enough: "Enough",
  recent: "too new to judge",
  nothing: "nothing",
  review: "Review them",
  reviewRole: (/** @type {string} */ role) => `Review: ${role}`,
  reviewOne: "Review",
  whatIf: "Simulate",
  whatIfOf: (/** @type {string} */ role, /** @type {string} */ code) => `Simulate: ${role} without ${code}`,
  tryIt: "Try it",
  tryOf: (/** @type {string} */ role) => `Try it: ${role}`,
  tryTitle: (/** @type {string} */ role) => `Make the role ${role} smaller?`,
  takes: "It no longer gives",
  adds: "It gives in place of a wildcard",
  save: "Save the smaller role",
  saved: (/** @type {string} */ role) => `The role ${role} is smaller now.`,
  more: "Show more",
};

export const CHANGES = {
  title: "What has changed",
  text: "Lines, demands, permissions of roles and assignments, in one place.",
  since: "Since revision",
  sinceHelp: "Empty: since your last sign-off.",
  noSignOff: "You have signed no revision off yet: name one, or sign one off on its page.",
  show: "Show",
  span: (/** @type {number} */ from, /** @type {number} */ to) => `From revision ${from} to ${to}`,
  signedOff: "Your last sign-off",
  counts: "Roles and assignments since",
  lines: "Lines",
  noLines: "No line came or went.",
  demands: "Required sign-in",
  noDemands: "No demand came or went.",
  grants: "Permissions of roles",
  noGrants: "No role has begun or ceased to give anything.",
  assignments: "Assignments",
  noAssignments: "No assignment was given, edited or ended.",
  time: "Time",
  change: "Change",
  role: "Role",
  code: "Permission",
  user: "User",
  until: "Until",
  reason: "Reason",
  grantChanges: /** @type {Record<string, string>} */ ({ given: "Given", taken: "Taken" }),
  assignmentChanges: /** @type {Record<string, string>} */ ({
    given: "Given",
    edited: "Edited",
    ended: "Ended",
  }),
  more: "Show more",
};
