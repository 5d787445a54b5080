// @ts-check
/** Requests for roles: the list, one request, and asking. */
import { ENTRIES } from "../../strings/frame.js";

/** @type {(import("../../types/view").View | import("../../types/view").Part)[]} */
export const VIEWS = [
  { within: "/", load: () => import("./home.js"), operation: "GET /api/access-request/list" },
  {
    pattern: "/access-requests/roles",
    load: () => import("./catalogue.js"),
    operation: "GET /api/access-request/role/list",
    entry: { after: "/access-requests", text: ENTRIES.catalogue, icon: "plus" },
  },
  {
    pattern: "/access-requests",
    load: () => import("./access-requests.js"),
    operation: "GET /api/access-request/list",
  },
  {
    pattern: "/access-requests/waiting",
    load: () => import("./access-requests.js"),
    operation: "GET /api/access-request/list",
  },
  {
    pattern: "/access-requests/all",
    load: () => import("./access-requests.js"),
    operation: "GET /api/access-request/list",
  },
  {
    pattern: "/access-requests/new",
    load: () => import("./access-request-form.js"),
    operation: "POST /api/access-request",
  },
  {
    pattern: "/access-requests/{id}",
    load: () => import("./access-request.js"),
    operation: "GET /api/access-request/{id}",
  },
  {
    pattern: "/access-requests/{id}/access",
    load: () => import("./access-request.js"),
    operation: "GET /api/access-request/{id}",
  },
];
