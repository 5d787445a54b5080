// @ts-check
/**
 * The views, and how each is loaded. Only `main.js` imports this and hands it over: views may then import what is in
 * `core`, and no files import one another in a circle. Those of features are in `features/<name>/feature.js`.
 */
import * as features from "./features.js";
import { view } from "./navigation.js";

/** @typedef {import("./types/view").View} View */

/** The views of features, and the parts that they add to views. @type {(View | import("./types/view").Part)[]} */
const ADDED = Object.values(features).flat();

const account = () => import("./views/account.js");
const users = () => import("./views/users.js");
const userForm = () => import("./views/user-form.js");
const user = () => import("./views/user.js");
const roleForm = () => import("./views/role-form.js");
const role = () => import("./views/role.js");
const menus = () => import("./views/menus.js");
const menuForm = () => import("./views/menu-form.js");
const resourceForm = () => import("./views/resource-form.js");
const resource = () => import("./views/resource.js");
const serviceForm = () => import("./views/service-form.js");
const service = () => import("./views/service.js");

/** The views of the core: path, file, and the operation that their readers may call. */
const OWN = /** @type {[pattern: string, load: View["load"], operation?: string][]} */ ([
  ["/", () => import("./views/home.js")],
  ["/account", account],
  ["/account/factors", account],
  ["/account/devices", () => import("./views/devices.js")],
  ["/account/notices", () => import("./views/notices.js")],
  ["/account/sign-ins", () => import("./views/sign-ins.js")],
  ["/users", users, "GET /api/user/list"],
  ["/users/new", userForm, "POST /api/user"],
  ["/users/{id}", user, "GET /api/user/{id}"],
  ["/users/{id}/edit", userForm, "PATCH /api/user/{id}"],
  ["/users/{id}/roles", user, "GET /api/user/{id}/roles"],
  ["/users/{id}/access", user, "GET /api/policy/what"],
  ["/users/{id}/sessions", user, "GET /api/online/list"],
  ["/users/{id}/factors", user, "GET /api/user/{id}/factors"],
  ["/users/{id}/origins", user, "GET /api/user/{id}/origins"],
  ["/users/{id}/keys", user, "GET /api/user/{id}/keys"],
  ["/users/{id}/history", user, "GET /api/operation-log/list"],
  ["/service-accounts", users, "GET /api/user/list"],
  ["/service-accounts/new", userForm, "POST /api/user"],
  ["/roles", () => import("./views/roles.js"), "GET /api/role/list"],
  ["/roles/new", roleForm, "POST /api/role"],
  ["/roles/{id}", role, "GET /api/role/{id}"],
  ["/roles/{id}/edit", roleForm, "PATCH /api/role/{id}"],
  ["/roles/{id}/members", role, "GET /api/user/list"],
  ["/roles/{id}/access", role, "GET /api/policy/what"],
  ["/roles/{id}/asking", role, "GET /api/role/{id}/request-rule"],
  ["/roles/{id}/history", role, "GET /api/operation-log/list"],
  ["/menus", menus, "GET /api/menu/list"],
  ["/menus/new", menuForm, "POST /api/menu"],
  ["/menus/{id}", menus, "GET /api/menu/{id}"],
  ["/menus/{id}/history", menus, "GET /api/operation-log/list"],
  ["/menus/{id}/edit", menuForm, "PATCH /api/menu/{id}"],
  ["/files", () => import("./views/files.js"), "GET /api/file/list"],
  ["/online", () => import("./views/online.js"), "GET /api/online/list"],
  ["/logs/operations", () => import("./views/operations.js"), "GET /api/operation-log/list"],
  ["/logs/operations/{id}", () => import("./views/operation.js"), "GET /api/operation-log/{id}"],
  ["/logs/logins", () => import("./views/login-log.js"), "GET /api/login-log/list"],
  ["/changes", () => import("./views/changes.js"), "GET /api/operation-log/list"],
  ["/activity", () => import("./views/activity.js"), "GET /api/system/activity"],
  ["/mails", () => import("./views/mails.js"), "GET /api/mail/list"],
  ["/jobs", () => import("./views/jobs.js"), "GET /api/jobs"],
  ["/resources", () => import("./views/resources.js"), "GET /api/resource/list"],
  ["/resources/new", resourceForm, "POST /api/resource"],
  ["/resources/register", () => import("./views/resource-register.js"), "POST /api/resource"],
  ["/resources/import", () => import("./views/resource-import.js"), "POST /api/resource"],
  ["/resources/{id}", resource, "GET /api/resource/{id}"],
  ["/resources/{id}/edit", resourceForm, "PATCH /api/resource/{id}"],
  ["/resources/{id}/history", resource, "GET /api/operation-log/list"],
  ["/services", () => import("./views/services.js"), "GET /api/service/list"],
  ["/services/new", serviceForm, "POST /api/service"],
  ["/services/{id}", service, "GET /api/service/{id}"],
  ["/services/{id}/edit", serviceForm, "PATCH /api/service/{id}"],
  ["/services/{id}/history", service, "GET /api/operation-log/list"],
  ["/policy", () => import("./views/policy.js"), "GET /api/policy"],
]).map((each) => view(...each));

/** @type {View[]} */
export const VIEWS = [...ADDED.filter((each) => "pattern" in each), ...OWN].map((each) => ({
  ...each,
  parts: ADDED.filter((part) => "within" in part).filter(({ within }) => within === each.pattern),
}));
