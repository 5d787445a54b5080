// @ts-check
/** Requests for roles: the list, one request, and asking. */

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
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
