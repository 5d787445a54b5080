// @ts-check
/** All users: filters, pages, and the way to each. */
import { few, linkButton } from "../core/dom.js";
import { exporting } from "../parts/transfer.js";
import { bulkBar } from "../parts/bulk.js";
import { USER } from "../parts/columns.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { lastLogin, roleOptions, stateOf } from "../parts/users.js";
import { TABLE } from "../strings/table.js";
import { TRANSFER } from "../strings/transfer.js";
import { USERS as T } from "../strings/users.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const roles = await roleOptions(page);
  const bulk = bulkBar(page);
  page.title(
    T.title,
    page.may("POST /api/user") && linkButton("/users/new", T.add, { icon: "plus", kind: "primary" }),
    page.may("POST /api/user/import") && linkButton("/users/import", TRANSFER.import, { icon: "upload" }),
    page.may("GET /api/user/export") &&
      exporting(page, "/api/user/export", "users", {
        text: TRANSFER.exportText,
        columns: Object.keys(USER).filter((column) => column !== "password"),
        count: async () => (await page.call("GET", "/api/user/list", { query: { size: 1 } })).data,
      }),
  );
  page.put(
    bulk?.element,
    listing(page, {
      caption: T.caption,
      filters: [
        { name: "keyword", label: T.keyword, type: "text" },
        { name: "userName", label: T.userName, type: "text", more: true },
        { name: "nickName", label: T.nickName, type: "text", more: true },
        { name: "email", label: T.email, type: "text", more: true },
        { name: "phone", label: T.phone, type: "text", more: true },
        { name: "status", label: T.status, type: "select", options: options(T.statuses) },
        {
          name: "banned",
          label: T.banned,
          type: "select",
          options: [
            ["true", TABLE.yes],
            ["false", TABLE.no],
          ],
        },
        {
          name: "secondFactor",
          label: T.factors,
          type: "select",
          options: [
            ["true", TABLE.yes],
            ["false", TABLE.no],
          ],
          more: true,
        },
        { name: "kind", label: T.kind, type: "select", options: options(T.kinds), more: true },
        { name: "roleCode", label: T.role, type: roles ? "select" : "text", options: roles ?? [] },
        {
          name: "hasRole",
          label: T.roles,
          type: "select",
          options: [
            ["true", T.someRole],
            ["false", T.noRoles],
          ],
          more: true,
        },
        { name: "createTimeFrom", label: T.from, type: "date", more: true },
        { name: "createTimeTo", label: T.to, type: "date", more: true },
      ],
      columns: [
        { title: T.userName, sort: "userName", cell: (user) => user.userName },
        { title: T.nickName, sort: "nickName", cell: (user) => user.nickName },
        { title: T.email, sort: "email", cell: (user) => user.email ?? "" },
        {
          title: T.roles,
          cell: (user) => few(user.roles.map((/** @type {any} */ role) => role.roleName)),
        },
        { title: T.status, sort: "status", cell: stateOf },
        {
          title: T.lastLogin,
          sort: "lastLoginTime",
          cell: (user) => lastLogin(user, { ago: true, day: true }),
        },
        {
          title: T.created,
          sort: "createTime",
          kind: "wide",
          cell: (user) => time(user.createTime, { day: true }),
        },
      ],
      select: bulk?.key,
      chosen: bulk?.choose,
      row: (user) => (page.may("GET /api/user/{id}") ? `/users/${user.id}` : null),
      load: async (query) => (await page.call("GET", "/api/user/list", { query })).data,
    }),
  );
}

/** @param {Record<string, string>} names @returns {[string, string][]} */
function options(names) {
  return Object.entries(names);
}
