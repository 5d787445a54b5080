// @ts-check
/** The texts of directories and what they hand out, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

export const DIRECTORIES = {
  title: "Directories",
  text:
    "Where people and their groups are kept: providers at which they sign in, and what provisions accounts. " +
    "Each hands out roles by its groups, below a ceiling.",
  add: "New directory",
  none: "No directory hands out roles.",
  bare: (/** @type {string} */ title) => `People sign in with ${title}, which hands out no roles yet.`,
  set: (/** @type {string} */ name) => `Set what ${name} hands out`,
  name: "Name",
  nameHelp: "That of the provider in the settings, or any for what provisions accounts. It never changes.",
  kind: "Kind",
  kinds: /** @type {Record<string, string>} */ ({
    oidc: "Provider (OpenID Connect)",
    scim: "Provisioning (SCIM)",
  }),
  client: "Service account",
  clientHelp: "Which service account provisions: for SCIM alone.",
  noClient: "None: it provisions nothing",
  mapping: "Groups and their roles",
  mappingHelp:
    "Exact names of groups, and the codes of the roles that each gives. Groups that are not here give none.",
  noMapping: "No group gives a role.",
  groups: (/** @type {number} */ n) => count(n, "group", "groups"),
  group: "Group",
  roles: "Roles",
  groupAt: (/** @type {number} */ place) => `Group ${place}`,
  rolesAt: (/** @type {number} */ place) => `Roles of group ${place}`,
  addGroup: "Add a group",
  removeGroup: (/** @type {number} */ place) => `Remove group ${place}`,
  ceiling: "Ceiling",
  ceilingHelp:
    "The permissions that it may hand out at most: no role that gives another one. You must be able to grant each " +
    "of them.",
  ceilingLines: "One permission code on each line.",
  noCeiling: "Nothing: it hands out no permission.",
  codes: (/** @type {number} */ n) => count(n, "permission", "permissions"),
  state: "State",
  enabledState: "In use",
  enabledHelp: "If not, it is cut off: it gives nothing, and nobody signs in with it.",
  cutOff: "Cut off",
  inUse: "In use",
  facts: "Directory",
  created: "Created",
  updated: "Changed",
  assignments: "Roles that directories have given",
  subject: (/** @type {string | null} */ name) => (name ? `Directory ${name}` : "The directory"),
  editTitle: (/** @type {string} */ name) => `Edit the directory ${name}`,
  saveTitle: (/** @type {string} */ name) => `Save the directory ${name}?`,
  saveText:
    "Roles that it has given and may not give any more end at once. What people gain by new groups follows when the " +
    "directory tells of them the next time.",
  saved: (/** @type {string} */ name) => `Directory ${name} was saved.`,
  at: (/** @type {string} */ group, /** @type {string} */ role) => `${group}, ${role}`,
  enable: "Let in again",
  disable: "Cut off",
  enableTitle: (/** @type {string} */ name) => `Let the directory ${name} in again?`,
  disableTitle: (/** @type {string} */ name) => `Cut off the directory ${name}?`,
  enableText: "People sign in with it again, and it gives roles by its groups.",
  disableText:
    "Nobody signs in with it any more, and it changes nothing here. Sessions go on, and so do the roles that it has " +
    "given, until they end: portcullis directory cut-off ends both at once.",
  enabled: (/** @type {string} */ name) => `Directory ${name} is in use again.`,
  disabled: (/** @type {string} */ name) => `Directory ${name} is cut off.`,
  deleteTitle: (/** @type {string} */ name) => `Delete the directory ${name}?`,
  deleteText: "All roles that it has given end, and the accounts that it manages are managed here again.",
  deleteConfirm: "Delete this directory",
  deleted: (/** @type {string} */ name) => `Directory ${name} was deleted.`,
};
