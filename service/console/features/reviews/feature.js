// @ts-check
/** Reviews of who keeps a role, rights that nobody uses, and what has changed since a sign-off. */
import { ENTRIES } from "../../strings/frame.js";

/** @type {(import("../../types/view").View | import("../../types/view").Part)[]} */
export const VIEWS = [
  { within: "/", load: () => import("./home.js"), operation: "GET /api/review/list" },
  {
    pattern: "/reviews",
    load: () => import("./reviews.js"),
    operation: "GET /api/review/list",
    entry: {
      after: "/access-requests",
      text: ENTRIES.reviews,
      icon: "scale",
      waiting: () => import("./waiting.js"),
    },
  },
  { pattern: "/reviews/new", load: () => import("./review-form.js"), operation: "POST /api/review" },
  { pattern: "/reviews/{id}", load: () => import("./review.js"), operation: "GET /api/review/{id}" },
  {
    pattern: "/reviews/{id}/mine",
    load: () => import("./review.js"),
    operation: "POST /api/review/{id}/item/{itemId}/decision",
  },
  {
    pattern: "/reviews/{id}/items",
    load: () => import("./review.js"),
    operation: "GET /api/review/{id}/item/list",
  },
  {
    pattern: "/reviews/{id}/findings",
    load: () => import("./review.js"),
    operation: "GET /api/review/{id}/item/list",
  },
  {
    pattern: "/policy/unused",
    load: () => import("./unused.js"),
    operation: "GET /api/policy/unused",
    entry: { after: "/policy/revisions", text: ENTRIES.unused, icon: "minus" },
  },
];
