// @ts-check
/** All roles: filters, pages, and the way to each. */
import { records } from "../parts/declared.js";
import { roleName } from "../parts/seed.js";
import { switching } from "../parts/selection.js";
import { ROLE } from "../records/role.js";
import { ROLES as T } from "../strings/roles.js";

/** @param {Page} page */
export async function show(page) {
  const many = switching(page, "/api/role/bulk/enabled", T.number, roleName);
  const known = { seesUsers: page.may("GET /api/user/list") };
  records(page, ROLE, { known, below: many.element, list: many.listed });
}
