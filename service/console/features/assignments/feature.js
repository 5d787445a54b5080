// @ts-check
/** Assignments of roles one by one: the list of all of them. */

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  { pattern: "/assignments", load: () => import("./list.js"), operation: "GET /api/assignment/list" },
];
