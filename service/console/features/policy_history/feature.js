// @ts-check
/** The past of the policy: its revisions, what differs between two, and the way back to one. */
import { view } from "../../navigation.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  view("/policy/revisions", () => import("./revisions.js"), "GET /api/policy/revisions"),
  view("/policy/revisions/{revision}", () => import("./revision.js"), "GET /api/policy/revisions/{revision}"),
  view("/policy/compare", () => import("../../views/changes.js"), "GET /api/policy/diff"),
];
