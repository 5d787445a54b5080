// @ts-check
/** Users and roles as tables: the views of their imports. */

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  { pattern: "/users/import", load: () => import("./import.js"), operation: "POST /api/user/import" },
  { pattern: "/roles/import", load: () => import("./import.js"), operation: "POST /api/role/import" },
];
