// @ts-check
/** One role: what is stored, and what it gives. */
import { button, card, definition, h, link, linkButton } from "../core/dom.js";
import { permissions } from "../parts/permissions.js";
import { remove, setEnabled } from "../parts/preview.js";
import { entries, related, what } from "../parts/related.js";
import { edited, time } from "../parts/time.js";
import { ACTION } from "../strings/common.js";
import { ROLES as T } from "../strings/roles.js";
import { stateOf } from "./roles.js";

const ONE = "/api/role/{id}";

/** @typedef {import("../types/api").Role} Role */

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const path = { id: page.params.id };
  const [{ data: role, etag }, given, users] = await Promise.all([
    page.call("GET", ONE, { path }),
    permissions(page, path),
    holders(page, path.id),
  ]);
  page.crumbs(["/roles", T.title]);
  page.title(
    role.roleName,
    page.may("PATCH /api/role/{id}") && linkButton(`/roles/${role.id}/edit`, ACTION.edit, { icon: "edit" }),
    page.may("PATCH /api/role/{id}") &&
      button(role.enabled ? T.disable : T.enable, () => toggle(page, role, etag)),
    page.may("POST /api/role") && linkButton(`/roles/new?copy=${role.id}`, T.copy, { icon: "plus" }),
    page.may("DELETE /api/role/{id}") &&
      button(ACTION.delete, () => deleteRole(page, role, etag), { kind: "danger", icon: "trash" }),
  );
  page.put(
    card(
      T.facts,
      definition([
        [T.code, h("code", null, role.roleCode)],
        [T.state, stateOf(role)],
        [T.description, role.description],
        [
          T.users,
          users !== null && link(`/users?roleCode=${encodeURIComponent(role.roleCode)}`, T.userCount(users)),
        ],
        [T.created, time(role.createTime)],
        [T.updated, edited(role)],
      ]),
      related(page, what({ roleCode: role.roleCode }), entries(`role:${role.roleCode}`)),
    ),
    card(T.gives, given(role)),
  );
}

/**
 * Return how many users have the role; null if the caller may not list users.
 * @param {import("../core/page.js").Page} page
 * @param {string} roleId
 */
async function holders(page, roleId) {
  if (!page.may("GET /api/user/list")) return null;
  return (await page.call("GET", "/api/user/list", { query: { roleId, size: 1 } })).data.total;
}

/** @param {import("../core/page.js").Page} page @param {Role} role @param {string | null} etag */
function toggle(page, role, etag) {
  const path = { id: role.id };
  return setEnabled(page, {
    on: !role.enabled,
    name: role.roleName,
    texts: T,
    etag,
    write: (enabled, options) => page.call("PATCH", ONE, { path, body: { enabled }, ...options }),
  });
}

/** @param {import("../core/page.js").Page} page @param {Role} role @param {string | null} etag */
function deleteRole(page, role, etag) {
  const path = { id: role.id };
  return remove(page, {
    name: role.roleName,
    texts: T,
    write: (dryRun) => page.call("DELETE", ONE, { path, ifMatch: etag, dryRun }),
    next: "/roles",
  });
}
