// @ts-check
/** What doctor has found, for who operates the installation. */

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  { pattern: "/doctor", load: () => import("./doctor.js"), operation: "GET /api/system/findings" },
];
