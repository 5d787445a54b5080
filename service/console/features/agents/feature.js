// @ts-check
/** Agents that act for the caller: calls that wait for an approval, and the delegations. */
import { view } from "../../navigation.js";
import { APPROVALS, DELEGATIONS } from "./strings.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  view("/account/delegations", () => import("./delegations.js"), "GET /api/user/profile/delegations", {
    after: "/account/devices",
    text: DELEGATIONS.title,
    icon: "bot",
  }),
  view("/account/approvals", () => import("./approvals.js"), "GET /api/user/profile/approvals", {
    after: "/account/delegations",
    text: APPROVALS.title,
    icon: "check",
  }),
  view("/account/approvals/{id}", () => import("./approval.js"), "GET /api/user/profile/approvals"),
];
