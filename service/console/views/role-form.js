// @ts-check
/** Creates a role, perhaps as a copy, or edits one. */
import { h } from "../core/dom.js";
import { creating, editing } from "../parts/declared.js";
import { ROLE } from "../records/role.js";
import { enumerated } from "../strings/common.js";
import { ROLES as T } from "../strings/roles.js";

/** @param {Page} page */
export async function show(page) {
  if (page.params.id) return editing(page, ROLE);
  const [copied, permissions] = [page.query.get("copy"), page.query.get("permissions")?.split(",")];
  const only = permissions && {
    before: h("p", null, T.givesOnly({ permissions: enumerated(permissions) })),
    body: (/** @type {any} */ values) => ({ ...values, permissions }),
  };
  if (!copied) return void creating(page, ROLE, { title: T.newRole, ...only });
  const path = { id: copied };
  const [{ data: source }, { data: given }] = await Promise.all([
    page.call("GET", "/api/role/{id}", { path }),
    page.call("GET", "/api/role/{id}/permissions", { path }),
  ]);
  creating(page, ROLE, {
    title: T.copyTitle({ name: source.roleName }),
    before: h("p", null, T.copyText({ n: given.permissions.length })),
    record: { ...source, roleName: T.copyOf({ name: source.roleName }), roleCode: "", enabled: true },
    body: (values) => ({ ...values, menuIds: given.menuIds }),
  });
}
