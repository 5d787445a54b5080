// @ts-check
/** Requests for roles: the list, one request, and asking. */
import { view } from "../../navigation.js";
import { ENTRIES } from "../../strings/frame.js";

/** @type {(import("../../types/view").View | import("../../types/view").Part)[]} */
export const VIEWS = [
  { within: "/", load: () => import("./home.js"), operation: "GET /api/access-request/list" },
  view("/access-requests/roles", () => import("./catalogue.js"), "GET /api/access-request/role/list", {
    after: "/access-requests",
    text: ENTRIES.catalogue,
    icon: "plus",
  }),
  view("/access-requests", () => import("./access-requests.js"), "GET /api/access-request/list"),
  view("/access-requests/own", () => import("./access-requests.js"), "GET /api/access-request/list"),
  view("/access-requests/waiting", () => import("./access-requests.js"), "GET /api/access-request/list"),
  view("/access-requests/all", () => import("./access-requests.js"), "GET /api/access-request/list"),
  view("/access-requests/new", () => import("./access-request-form.js"), "POST /api/access-request"),
  view("/access-requests/{id}", () => import("./access-request.js"), "GET /api/access-request/{id}"),
  view("/access-requests/{id}/access", () => import("./access-request.js"), "GET /api/access-request/{id}"),
];
