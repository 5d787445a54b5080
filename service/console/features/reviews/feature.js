// @ts-check
/** Reviews of who keeps a role, rights that nobody uses, and what has changed since a sign-off. */
import { view } from "../../navigation.js";
import { ENTRIES } from "../../strings/frame.js";

/** @type {(import("../../types/view").View | import("../../types/view").Part)[]} */
export const VIEWS = [
  { within: "/", load: () => import("./home.js"), operation: "GET /api/review/list" },
  view("/reviews", () => import("./reviews.js"), "GET /api/review/list", {
    after: "/access-requests",
    text: ENTRIES.reviews,
    icon: "scale",
    waiting: () => import("./waiting.js"),
  }),
  view("/reviews/new", () => import("./review-form.js"), "POST /api/review"),
  view("/reviews/{id}", () => import("./review.js"), "GET /api/review/{id}"),
  view("/reviews/{id}/mine", () => import("./review.js"), "POST /api/review/{id}/item/{itemId}/decision"),
  view("/reviews/{id}/items", () => import("./review.js"), "GET /api/review/{id}/item/list"),
  view("/reviews/{id}/findings", () => import("./review.js"), "GET /api/review/{id}/item/list"),
  view("/policy/unused", () => import("./unused.js"), "GET /api/policy/unused", {
    after: "/policy/revisions",
    text: ENTRIES.unused,
    icon: "minus",
  }),
];
