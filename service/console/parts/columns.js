// @ts-check
/** The columns of tables, by the types of the API: one that is missing here, or is none, fails the check of types. */

/** @typedef {import("../types/api").OperationExportEntry} OperationExportEntry */
/** @typedef {import("../types/api").LoginEntry} LoginEntry */

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
