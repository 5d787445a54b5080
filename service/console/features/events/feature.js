// @ts-check
/** Events about rights: the webhooks that get them, below the outbox of mails. */

/** @type {import("../../types/view").Part[]} */
export const VIEWS = [
  {
    within: "/mails",
    load: () => import("./destinations.js"),
    operation: "GET /api/webhook/list",
  },
];
