// @ts-check
/** Questions to the policy: who may what, why, and what if. */
import { view } from "../../navigation.js";

/** @type {(import("../../types/view").View | import("../../types/view").Part)[]} */
export const VIEWS = [
  {
    within: "/logs/operations/{id}",
    load: () => import("./refusal.js"),
    operation: "POST /api/policy/explain",
  },
  view("/resources/coverage", () => import("./coverage.js"), "GET /api/policy/coverage"),
  view("/policy/explain", () => import("./explain.js"), "POST /api/policy/explain"),
  view("/policy/who", () => import("./who.js"), "GET /api/policy/who"),
  view("/policy/what", () => import("./what.js"), "GET /api/policy/what"),
  view("/policy/what-if", () => import("./what-if.js"), "GET /api/policy/what-if"),
  view("/policy/matrix", () => import("./matrix.js"), "GET /api/policy/matrix"),
  view("/policy/openings", () => import("./openings.js"), "GET /api/policy/openings"),
];
