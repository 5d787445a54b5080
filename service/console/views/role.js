// @ts-check
/** One role: what is stored, and what it gives. */
import { button, card, definition, h, link, linkButton } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { permissions } from "../parts/permissions.js";
import { attempt, previewed, undoing } from "../parts/preview.js";
import { entries, related, what } from "../parts/related.js";
import { edited, time } from "../parts/time.js";
import { S } from "../strings.js";
import { stateOf } from "./roles.js";

const T = S.roles;
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
    page.may("PATCH /api/role/{id}") && linkButton(`/roles/${role.id}/edit`, S.action.edit, { icon: "edit" }),
    page.may("PATCH /api/role/{id}") &&
      button(role.enabled ? T.disable : T.enable, () => setEnabled(page, role, etag)),
    page.may("POST /api/role") && linkButton(`/roles/new?copy=${role.id}`, T.copy, { icon: "plus" }),
    page.may("DELETE /api/role/{id}") &&
      button(S.action.delete, () => remove(page, role, etag), { kind: "danger", icon: "trash" }),
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
function setEnabled(page, role, etag) {
  const on = !role.enabled;
  const path = { id: role.id };
  const title = on ? T.enableTitle(role.roleName) : T.disableTitle(role.roleName);
  return attempt(title, async () => {
    const done = await previewed({
      title,
      text: on ? T.enableText : T.disableText,
      confirm: on ? T.enable : T.disable,
      danger: !on,
      write: (dryRun) => page.call("PATCH", ONE, { path, body: { enabled: on }, ifMatch: etag, dryRun }),
    });
    if (!done) return;
    tell(on ? T.enabled(role.roleName) : T.disabled(role.roleName), {
      undo: undoing(page, ["PATCH", ONE, { path, body: { enabled: !on }, ifMatch: done.etag }]),
    });
    await page.reload();
  });
}

/** @param {import("../core/page.js").Page} page @param {Role} role @param {string | null} etag */
function remove(page, role, etag) {
  const title = T.deleteTitle(role.roleName);
  return attempt(title, async () => {
    const done = await previewed({
      title,
      text: T.deleteText,
      confirm: T.deleteConfirm,
      danger: true,
      write: (dryRun) => page.call("DELETE", ONE, { path: { id: role.id }, ifMatch: etag, dryRun }),
    });
    if (!done) return;
    tell(T.deleted(role.roleName));
    page.go("/roles");
  });
}
