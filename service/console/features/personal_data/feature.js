// @ts-check
/** Erasures of personal data: an act on the page of a user. */

const TABS = ["", "/roles", "/access", "/sessions", "/factors", "/origins", "/keys", "/history"];

/** @type {import("../../types/view").Part[]} */
export const VIEWS = TABS.map((tab) => ({
  within: `/users/{id}${tab}`,
  load: () => import("./erase.js"),
  operation: "POST /api/user/{id}/erasure",
}));
