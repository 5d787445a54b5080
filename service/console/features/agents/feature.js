// @ts-check
/** Agents that act for the caller: calls that wait for an approval, and the delegations. */
import { APPROVALS, DELEGATIONS } from "./strings.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  {
    pattern: "/account/delegations",
    load: () => import("./delegations.js"),
    operation: "GET /api/user/profile/delegations",
    entry: { after: "/account/devices", text: DELEGATIONS.title, icon: "bot" },
  },
  {
    pattern: "/account/approvals",
    load: () => import("./approvals.js"),
    operation: "GET /api/user/profile/approvals",
    entry: { after: "/account/delegations", text: APPROVALS.title, icon: "check" },
  },
  {
    pattern: "/account/approvals/{id}",
    load: () => import("./approval.js"),
    operation: "GET /api/user/profile/approvals",
  },
];
