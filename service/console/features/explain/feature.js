// @ts-check
/** Questions to the policy: who may what, why, and what if. */

/** @type {(import("../../types/view").View | import("../../types/view").Part)[]} */
export const VIEWS = [
  {
    within: "/logs/operations/{id}",
    load: () => import("./refusal.js"),
    operation: "POST /api/policy/explain",
  },
  {
    pattern: "/resources/coverage",
    load: () => import("./coverage.js"),
    operation: "GET /api/policy/coverage",
  },
  { pattern: "/policy/explain", load: () => import("./explain.js"), operation: "POST /api/policy/explain" },
  { pattern: "/policy/who", load: () => import("./who.js"), operation: "GET /api/policy/who" },
  { pattern: "/policy/what", load: () => import("./what.js"), operation: "GET /api/policy/what" },
  { pattern: "/policy/what-if", load: () => import("./what-if.js"), operation: "GET /api/policy/what-if" },
  { pattern: "/policy/matrix", load: () => import("./matrix.js"), operation: "GET /api/policy/matrix" },
  { pattern: "/policy/openings", load: () => import("./openings.js"), operation: "GET /api/policy/openings" },
];
