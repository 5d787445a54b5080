// @ts-check
/** The texts of directories and what they hand out, in English. Functions take what varies. */
import { count } from "../../strings/words.js";

export const DIRECTORIES = {
  title: "Directories",
  text: "Sign-in providers and provisioning systems. Each directory assigns roles by group, up to a ceiling.",
  add: "New directory",
  none: "No directory assigns roles.",
  bare: (/** @type {string} */ title) => `People sign in with ${title}, which assigns no roles yet.`,
  set: (/** @type {string} */ name) => `Set up role assignment by ${name}`,
  name: "Name",
  nameHelp:
    "For a provider: its name in the settings. For provisioning: any name. It cannot be changed later.",
  kind: "Kind",
  kinds: /** @type {Record<string, string>} */ ({
    oidc: "Provider (OpenID Connect)",
    scim: "Provisioning (SCIM)",
  }),
  client: "Service account",
  clientHelp: "The service account that provisions users. Only for SCIM.",
  noClient: "None: no provisioning",
  mapping: "Groups and their roles",
  mappingHelp:
    "Exact group names, and the codes of the roles that each group assigns. Other groups assign no roles.",
  noMapping: "No group assigns a role.",
  groups: (/** @type {number} */ n) => count(n, "group", "groups"),
  group: "Group",
  roles: "Roles",
  groupAt: (/** @type {number} */ place) => `Group ${place}`,
  rolesAt: (/** @type {number} */ place) => `Roles of group ${place}`,
  addGroup: "Add a group",
  removeGroup: (/** @type {number} */ place) => `Remove group ${place}`,
  ceiling: "Ceiling",
  ceilingHelp:
    "The only permissions that roles of this directory can have. You must be able to grant each of them.",
  ceilingLines: "One permission code on each line.",
  noCeiling: "Empty: it assigns no permission.",
  codes: (/** @type {number} */ n) => count(n, "permission", "permissions"),
  state: "State",
  enabledState: "In use",
  enabledHelp: "A directory that is cut off assigns no roles and accepts no sign-ins.",
  cutOff: "Cut off",
  inUse: "In use",
  facts: "Directory",
  created: "Created",
  updated: "Changed",
  assignments: "Roles assigned by directories",
  subject: (/** @type {string | null} */ name) => (name ? `Directory ${name}` : "The directory"),
  editTitle: (/** @type {string} */ name) => `Edit the directory ${name}`,
  saveTitle: (/** @type {string} */ name) => `Save the directory ${name}?`,
  saveText:
    "Roles that the directory can no longer assign are revoked at once. Roles of new groups follow at " +
    "the next sign-in or provisioning.",
  saved: (/** @type {string} */ name) => `Directory ${name} was saved.`,
  at: (/** @type {string} */ group, /** @type {string} */ role) => `${group}, ${role}`,
  enable: "Reconnect",
  disable: "Cut off",
  enableTitle: (/** @type {string} */ name) => `Reconnect the directory ${name}?`,
  disableTitle: (/** @type {string} */ name) => `Cut off the directory ${name}?`,
  enableText: "People can sign in with it again, and it assigns roles by group.",
  disableText:
    "Nobody can sign in with it, and it changes nothing here. Existing sessions and roles stay until " +
    "they expire. To end both at once, run portcullis directory cut-off.",
  enabled: (/** @type {string} */ name) => `Directory ${name} is in use again.`,
  disabled: (/** @type {string} */ name) => `Directory ${name} is cut off.`,
  deleteTitle: (/** @type {string} */ name) => `Delete the directory ${name}?`,
  deleteText: "All roles it assigned are revoked. Accounts that it manages can be edited here again.",
  deleteConfirm: "Delete this directory",
  deleted: (/** @type {string} */ name) => `Directory ${name} was deleted.`,
};
