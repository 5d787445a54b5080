// @ts-check
/**
 * The views, and how each is loaded. Only `main.js` imports this and hands it over: views may then import what is in
 * `core`, and no files import one another in a circle. Those of features are in `features/<name>/feature.js`.
 */
import * as features from "./features.js";

/** @typedef {import("./types/view").View} View */

/** The views of features, and the parts that they add to views. @type {(View | import("./types/view").Part)[]} */
const ADDED = Object.values(features).flat();

/** @type {View[]} */
const OWN = [
  { pattern: "/", load: () => import("./views/home.js") },
  { pattern: "/account", load: () => import("./views/account.js") },
  { pattern: "/account/devices", load: () => import("./views/devices.js") },
  { pattern: "/account/notices", load: () => import("./views/notices.js") },
  { pattern: "/account/sign-ins", load: () => import("./views/sign-ins.js") },
  {
    pattern: "/users",
    load: () => import("./views/users.js"),
    operation: "GET /api/user/list",
  },
  { pattern: "/users/new", load: () => import("./views/user-form.js"), operation: "POST /api/user" },
  { pattern: "/users/{id}", load: () => import("./views/user.js"), operation: "GET /api/user/{id}" },
  {
    pattern: "/users/{id}/edit",
    load: () => import("./views/user-form.js"),
    operation: "PATCH /api/user/{id}",
  },
  {
    pattern: "/users/{id}/roles",
    load: () => import("./views/user.js"),
    operation: "GET /api/user/{id}/roles",
  },
  {
    pattern: "/users/{id}/access",
    load: () => import("./views/user.js"),
    operation: "GET /api/policy/what",
  },
  {
    pattern: "/users/{id}/sessions",
    load: () => import("./views/user.js"),
    operation: "GET /api/online/list",
  },
  {
    pattern: "/users/{id}/factors",
    load: () => import("./views/user.js"),
    operation: "GET /api/user/{id}/factors",
  },
  {
    pattern: "/users/{id}/origins",
    load: () => import("./views/user.js"),
    operation: "GET /api/user/{id}/origins",
  },
  {
    pattern: "/users/{id}/keys",
    load: () => import("./views/user.js"),
    operation: "GET /api/user/{id}/keys",
  },
  {
    pattern: "/users/{id}/history",
    load: () => import("./views/user.js"),
    operation: "GET /api/operation-log/list",
  },
  {
    pattern: "/roles",
    load: () => import("./views/roles.js"),
    operation: "GET /api/role/list",
  },
  { pattern: "/roles/new", load: () => import("./views/role-form.js"), operation: "POST /api/role" },
  { pattern: "/roles/{id}", load: () => import("./views/role.js"), operation: "GET /api/role/{id}" },
  {
    pattern: "/roles/{id}/edit",
    load: () => import("./views/role-form.js"),
    operation: "PATCH /api/role/{id}",
  },
  {
    pattern: "/roles/{id}/members",
    load: () => import("./views/role.js"),
    operation: "GET /api/user/list",
  },
  {
    pattern: "/roles/{id}/access",
    load: () => import("./views/role.js"),
    operation: "GET /api/policy/what",
  },
  {
    pattern: "/roles/{id}/asking",
    load: () => import("./views/role.js"),
    operation: "GET /api/role/{id}/request-rule",
  },
  {
    pattern: "/roles/{id}/history",
    load: () => import("./views/role.js"),
    operation: "GET /api/operation-log/list",
  },
  {
    pattern: "/menus",
    load: () => import("./views/menus.js"),
    operation: "GET /api/menu/list",
  },
  { pattern: "/menus/new", load: () => import("./views/menu-form.js"), operation: "POST /api/menu" },
  { pattern: "/menus/{id}", load: () => import("./views/menus.js"), operation: "GET /api/menu/{id}" },
  {
    pattern: "/menus/{id}/history",
    load: () => import("./views/menus.js"),
    operation: "GET /api/operation-log/list",
  },
  {
    pattern: "/menus/{id}/edit",
    load: () => import("./views/menu-form.js"),
    operation: "PATCH /api/menu/{id}",
  },
  {
    pattern: "/files",
    load: () => import("./views/files.js"),
    operation: "GET /api/file/list",
  },
  {
    pattern: "/online",
    load: () => import("./views/online.js"),
    operation: "GET /api/online/list",
  },
  {
    pattern: "/logs/operations",
    operation: "GET /api/operation-log/list",
    load: () => import("./views/operations.js"),
  },
  {
    pattern: "/logs/operations/{id}",
    operation: "GET /api/operation-log/{id}",
    load: () => import("./views/operation.js"),
  },
  {
    pattern: "/logs/logins",
    operation: "GET /api/login-log/list",
    load: () => import("./views/login-log.js"),
  },
  {
    pattern: "/activity",
    load: () => import("./views/activity.js"),
    operation: "GET /api/system/activity",
  },
  { pattern: "/mails", load: () => import("./views/mails.js"), operation: "GET /api/mail/list" },
  { pattern: "/jobs", load: () => import("./views/jobs.js"), operation: "GET /api/jobs" },
  {
    pattern: "/resources",
    load: () => import("./views/resources.js"),
    operation: "GET /api/resource/list",
  },
  {
    pattern: "/resources/new",
    load: () => import("./views/resource-form.js"),
    operation: "POST /api/resource",
  },
  {
    pattern: "/resources/register",
    load: () => import("./views/resource-register.js"),
    operation: "POST /api/resource",
  },
  {
    pattern: "/resources/import",
    load: () => import("./views/resource-import.js"),
    operation: "POST /api/resource",
  },
  {
    pattern: "/resources/{id}",
    load: () => import("./views/resource.js"),
    operation: "GET /api/resource/{id}",
  },
  {
    pattern: "/resources/{id}/edit",
    load: () => import("./views/resource-form.js"),
    operation: "PATCH /api/resource/{id}",
  },
  {
    pattern: "/resources/{id}/history",
    load: () => import("./views/resource.js"),
    operation: "GET /api/operation-log/list",
  },
  {
    pattern: "/services",
    load: () => import("./views/services.js"),
    operation: "GET /api/service/list",
  },
  { pattern: "/services/new", load: () => import("./views/service-form.js"), operation: "POST /api/service" },
  { pattern: "/services/{id}", load: () => import("./views/service.js"), operation: "GET /api/service/{id}" },
  {
    pattern: "/services/{id}/edit",
    load: () => import("./views/service-form.js"),
    operation: "PATCH /api/service/{id}",
  },
  {
    pattern: "/services/{id}/history",
    load: () => import("./views/service.js"),
    operation: "GET /api/operation-log/list",
  },
  {
    pattern: "/policy",
    load: () => import("./views/policy.js"),
    operation: "GET /api/policy",
  },
];

/** @type {View[]} */
export const VIEWS = [...ADDED.filter((each) => "pattern" in each), ...OWN].map((view) => ({
  ...view,
  parts: ADDED.filter((each) => "within" in each).filter(({ within }) => within === view.pattern),
}));
