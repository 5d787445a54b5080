// @ts-check
/** All roles: filters, pages, and the way to each. */
import { badge, h, linkButton } from "../core/dom.js";
import { ROLE } from "../parts/columns.js";
import { switching } from "../parts/selection.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { exporting } from "../parts/transfer.js";
import { ROLES as T } from "../strings/roles.js";
import { TRANSFER } from "../strings/transfer.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const many = switching(page, "/api/role/bulk/enabled", T.number, ({ roleName }) => roleName);
  page.title(
    T.title,
    page.may("POST /api/role") && linkButton("/roles/new", T.add, { icon: "plus", kind: "primary" }),
    page.may("POST /api/role/import") && linkButton("/roles/import", TRANSFER.import, { icon: "upload" }),
    page.may("GET /api/role/export") &&
      exporting(page, "/api/role/export", "roles", {
        text: TRANSFER.exportText,
        columns: Object.keys(ROLE),
        count: async () => (await page.call("GET", "/api/role/list", { query: { size: 1 } })).data,
      }),
  );
  page.put(
    many.element,
    listing(page, {
      ...many.listed,
      caption: T.caption,
      filters: [
        { name: "roleName", label: T.name },
        { name: "roleCode", label: T.code },
        {
          name: "enabled",
          label: T.state,
          type: "select",
          options: [
            ["true", T.enabledState],
            ["false", T.disabledState],
          ],
        },
        {
          name: "hasUser",
          label: T.members,
          type: "select",
          options: [
            ["true", T.someMember],
            ["false", T.nobody],
          ],
        },
      ],
      columns: [
        { title: T.name, sort: "roleName", cell: (role) => role.roleName },
        { title: T.code, sort: "roleCode", cell: (role) => h("code", null, role.roleCode) },
        { title: T.description, cell: (role) => role.description },
        { title: T.state, sort: "enabled", cell: stateOf },
        { title: T.updated, sort: "updateTime", cell: (role) => time(role.updateTime) },
      ],
      row: (role) => (page.may("GET /api/role/{id}") ? `/roles/${role.id}` : null),
      load: async (query) => (await page.call("GET", "/api/role/list", { query })).data,
    }),
  );
}

/** Return the state of a role, if it is unusual. @param {{enabled: boolean}} role */
export function stateOf({ enabled }) {
  return !enabled && badge(T.disabledState, "warn");
}
