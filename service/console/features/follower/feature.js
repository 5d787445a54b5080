// @ts-check
/** Decision points beside services: who follows the policy, beside what is in force. */

/** @type {import("../../types/view").Part[]} */
export const VIEWS = [
  {
    within: "/policy",
    load: () => import("./followers.js"),
    operation: "GET /api/policy/followers",
  },
];
