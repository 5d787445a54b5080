// @ts-check
/** Users and roles as tables: the views of their imports. */
import { view } from "../../navigation.js";

/** @type {import("../../types/view").View[]} */
export const VIEWS = [
  view("/users/import", () => import("./import.js"), "POST /api/user/import"),
  view("/roles/import", () => import("./import.js"), "POST /api/role/import"),
];
