// @ts-check
/** The columns of tables, by the types of the API: one that is missing here, or is none, fails the check of types. */

/** @typedef {import("../types/api").ImportedUser} ImportedUser */
/** @typedef {import("../types/api").ImportedRole} ImportedRole */
/** @typedef {import("../types/api").OperationExportEntry} OperationExportEntry */
/** @typedef {import("../types/api").LoginEntry} LoginEntry */

/** The columns of users, with an example. @type {Record<keyof ImportedUser, string>} */
export const USER = {
  userName: "wanda",
  nickName: "Wanda Heron",
  email: "wanda@example.org",
  phone: "",
  gender: "",
  avatar: "",
  status: "enabled",
  service: "",
  kind: "person",
  roles: "auditor",
  password: "",
};

/** The columns of roles, with an example. @type {Record<keyof ImportedRole, string>} */
export const ROLE = {
  roleCode: "reporter",
  roleName: "Reporter",
  description: "Reads the list of roles",
  enabled: "true",
  maxDuration: "28800",
  reasonRequired: "true",
  permissions: "system:role:list system:role:export",
};

/** The columns of the operation log. @type {Record<keyof OperationExportEntry, true>} */
export const OPERATION = {
  id: true,
  createTime: true,
  requestId: true,
  userId: true,
  userName: true,
  device: true,
  module: true,
  action: true,
  kind: true,
  method: true,
  url: true,
  query: true,
  clientIp: true,
  userAgent: true,
  status: true,
  error: true,
  elapsedMs: true,
  decision: true,
  decisionId: true,
  policyRevision: true,
  targets: true,
  changeCount: true,
  traceId: true,
  dryRun: true,
  repetitions: true,
  changes: true,
};

/** The columns of the login log. @type {Record<keyof LoginEntry, true>} */
export const LOGIN = {
  id: true,
  createTime: true,
  requestId: true,
  event: true,
  outcome: true,
  reason: true,
  userId: true,
  userName: true,
  device: true,
  loginIp: true,
  userAgent: true,
  browser: true,
  os: true,
  traceId: true,
};
