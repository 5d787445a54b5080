// @ts-check
/** The past of the policy: its revisions, what differs between two, and the way back to one. */

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  {
    pattern: "/policy/revisions",
    load: () => import("./revisions.js"),
    operation: "GET /api/policy/revisions",
  },
  {
    pattern: "/policy/revisions/{revision}",
    load: () => import("./revision.js"),
    operation: "GET /api/policy/revisions/{revision}",
  },
  {
    pattern: "/policy/compare",
    load: () => import("../../views/changes.js"),
    operation: "GET /api/policy/diff",
  },
];
