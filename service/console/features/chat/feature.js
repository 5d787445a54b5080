// @ts-check
/** Notices in a chat: the destinations, below the outbox of mails. */

/** @type {import("../../types/view").Part[]} */
export const VIEWS = [
  {
    within: "/mails",
    load: () => import("./destinations.js"),
    operation: "GET /api/chat/list",
  },
];
