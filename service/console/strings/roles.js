// @ts-check
/** The texts of roles and their permissions, in English. Functions take what varies. */
import { count } from "./words.js";

export const ROLES = {
  number: (/** @type {number} */ n) => count(n, "role", "roles"),
  title: "Roles",
  caption: "Roles",
  add: "New role",
  name: "Name",
  code: "Code",
  description: "Description",
  state: "State",
  enabledState: "Enabled",
  disabledState: "Disabled",
  created: "Created",
  updated: "Changed",
  userCount: (/** @type {number} */ n) => count(n, "user", "users"),
  facts: "Role",
  gives: "Permissions",
  members: "Members",
  someMember: "Some",
  nobody: "Nobody",
  noMembers: "No user has this role.",
  addMember: "Add a user",
  removeMember: "Remove",
  removeOne: (/** @type {string} */ user) => `Remove ${user}`,
  addTitle: (/** @type {string} */ user, /** @type {string} */ role) => `Give ${user} the role ${role}?`,
  removeTitle: (/** @type {string} */ user, /** @type {string} */ role) =>
    `Take the role ${role} from ${user}?`,
  addedMember: (/** @type {string} */ user, /** @type {string} */ role) =>
    `User ${user} got the role ${role}.`,
  removedMember: (/** @type {string} */ user, /** @type {string} */ role) =>
    `User ${user} no longer has the role ${role}.`,
  copy: "Copy",
  disable: "Disable",
  enable: "Enable",
  disableTitle: (/** @type {string} */ name) => `Disable the role ${name}?`,
  enableTitle: (/** @type {string} */ name) => `Enable the role ${name}?`,
  disableText: "A disabled role gives nothing to its users.",
  enableText: "The role gives its permissions to its users again.",
  disabled: (/** @type {string} */ name) => `Role ${name} was disabled.`,
  enabled: (/** @type {string} */ name) => `Role ${name} was enabled.`,
  deleteTitle: (/** @type {string} */ name) => `Delete the role ${name}?`,
  deleteText: "The role and what it gives are deleted. No user has it. This can't be undone.",
  deleteConfirm: "Delete this role",
  deleted: (/** @type {string} */ name) => `Role ${name} was deleted.`,
  newRole: "New role",
  subject: (/** @type {string | null} */ name) => (name ? `Role ${name}` : "The role"),
  codeHelp: "Lower-case letters, digits, _ and -. Programs know the role by it, and it never changes.",
  maxDuration: "Longest assignment",
  maxDurationHelp: "Who gets the role, gets it for this long at most. Empty: also without an end.",
  reasonRequired: "Assigning it needs a reason",
  reasonNeeded: "Needed to assign it",
  reason: "Reason",
  enabledHelp: "A disabled role gives nothing.",
  copyTitle: (/** @type {string} */ name) => `Copy the role ${name}`,
  copyOf: (/** @type {string} */ name) => `Copy of ${name}`,
  copyText: (/** @type {number} */ n) =>
    `The new role gives the same menus and Buttons, with ${count(n, "permission", "permissions")}. ` +
    "No user has it yet.",
  made: (/** @type {string} */ name) => `Role ${name} was created.`,
  saved: (/** @type {string} */ name) => `Role ${name} was saved.`,
  editTitle: (/** @type {string} */ name) => `Edit the role ${name}`,
  importTitle: "Import roles",
  importText:
    "Roles are found by code: known ones are changed, others created. " +
    "The file is checked first, and all rows are saved together or none.",
};

export const PERMISSIONS = {
  tree: "Menus and Buttons",
  search: "Search by title or permission",
  help:
    "Choose what the role gives. Choosing a Menu chooses all below it, but no wildcard: " +
    "these are only chosen by themselves.",
  page: "The page itself",
  disabled: "Disabled",
  nothing: "The role gives no permission.",
  covers: (/** @type {number} */ n) => `wildcard, covers ${count(n, "Button", "Buttons")}`,
  coveredBy: (/** @type {string} */ code) => `covered by ${code}`,
  summary: (/** @type {number} */ n) => `The role gives ${count(n, "permission", "permissions")}.`,
  wild: "Wildcards:",
  adds: "Adds",
  takes: "Takes away",
  preview: "Preview and save",
  back: "Discard the changes",
  saveTitle: (/** @type {string} */ name) => `Save the permissions of role ${name}?`,
  save: "Save",
  saved: (/** @type {string} */ name) => `The permissions of role ${name} were saved.`,
  meanwhile:
    "What they changed is taken over, and your changes stay on top of it. Look at the result, and save again.",
  theyAdded: "They added",
  theyTook: "They took away",
};
