// @ts-check
/** The texts of what stands around every view, in English. Functions take what varies. */

export const PRODUCT = "Portcullis";

export const FRAME = {
  skip: "Skip to the content",
  navigation: "Main navigation",
  find: "Go to…",
  findKeys: "Ctrl K",
  open: "Open the navigation",
  close: "Close the navigation",
  home: "Home",
  account: "Your account",
  notices: "Notices",
  unread: (/** @type {number} */ count) => (count === 1 ? "1 new notice" : `${count} new notices`),
  devices: "Your sessions",
  logins: "Your sign-ins",
  signOut: "Sign out",
  theme: "Colours",
  themes: { auto: "As the system", light: "Light", dark: "Dark" },
  shortcuts: "Keyboard shortcuts",
  signedInAs: (/** @type {string} */ name) => `Signed in as ${name}`,
  guide: "Guide",
  api: "API",
  version: (/** @type {string} */ version) => `Version ${version}`,
  findings: (/** @type {number} */ n) => (n === 1 ? " finding" : " findings"),
  waiting: (/** @type {number} */ n) => (n === 1 ? " waiting for you" : " waiting for you"),
  loading: "Loading…",
  nothingHere: "There is no such page",
  nothingHereText: "No page of this console has this address.",
  notYours: "You have no access to this page",
  notYoursText: (/** @type {string} */ operation) =>
    `This page needs ${operation}, which your roles do not allow. Check again after you get a role.`,
  again: "Check again",
  ask: "Ask for access",
  noneOpens: "None of the roles that you can ask for gives access to this page. Ask an administrator.",
  stillNotYours: "Your roles do not give access to this page yet.",
  leave: "Leave without saving?",
  leaveText: "Your changes on this page are not saved.",
  leaveConfirm: "Leave",
  cutOff: "You left the page before the service responded. Check whether the change was saved.",
  notSent: "Nothing was sent, because you left the page.",
  changes: "Your permissions have changed, and the navigation was updated.",
};

export const GROUPS = {
  access: "Access",
  policy: "Policy",
  endpoints: "Endpoints",
  activity: "Activity",
  system: "System",
};

export const ENTRIES = {
  users: "Users",
  roles: "Roles",
  assignments: "Assignments",
  requests: "Requests",
  permissions: "Permissions",
  explain: "Explain",
  who: "Who can",
  what: "What can",
  whatIf: "Simulate",
  matrix: "Matrix",
  revisions: "Revisions",
  openings: "Public access",
  resources: "Resources",
  services: "Services",
  coverage: "Coverage",
  activity: "By hour",
  auditLog: "Audit log",
  signIns: "Sign-ins",
  sessions: "Sessions",
  files: "Files",
  mails: "Mail",
  jobs: "Jobs",
  health: "System health",
};

export const SHORTCUTS = {
  title: "Keyboard shortcuts",
  keys: /** @type {[string, string][]} */ ([
    ["?", "Show these shortcuts"],
    ["Ctrl+K", "Go to a page, user, role, resource or decision (⌘K on a Mac)"],
    ["/", "Go to the first filter or search field"],
    ["g h", "Go to the home page"],
    ["g n", "Go to the navigation"],
    ["g a", "Go to your account"],
    ["Esc", "Close a dialog"],
    ["Tab, Shift+Tab", "Go to the next or previous control"],
  ]),
};
