// @ts-check
/** All assignments of roles to users: filters, pages, and the way to each user. */
import { h } from "../../core/dom.js";
import { begun, decided, endOf } from "../../parts/assignments.js";
import { roleFilter, roleNames } from "../../parts/roles.js";
import { listing } from "../../parts/table.js";
import { NONE, byUserId } from "../../parts/users.js";
import { ASSIGNMENTS as T } from "../../strings/assignments.js";

/** @param {Page} page */
export async function show(page) {
  const roles = await roleNames(page);
  page.title(T.title);
  page.put(
    h("p", null, T.text),
    listing(page, {
      caption: T.caption,
      file: "assignments",
      filters: [
        ...(page.may("GET /api/user/list") ? [{ name: "userName", label: T.user }] : []),
        roleFilter(T.role, roles),
        { name: "source", label: T.source, type: "select", options: Object.entries(T.sources), more: true },
        { name: "endsBefore", label: T.endsBefore, type: "date" },
        { name: "endless", label: T.endless, type: "whether", words: [T.noEnd, T.some] },
      ],
      columns: [
        { title: T.user, sort: "userName", cell: ({ userName }) => userName },
        { title: T.role, sort: "roleCode", cell: ({ roleCode }) => roles.shown(roleCode) },
        { title: T.from, sort: "from", cell: begun },
        { title: T.until, sort: "until", cell: endOf },
        { title: T.reason, cell: ({ reason }) => reason },
        { title: T.source, kind: "wide", cell: ({ source }) => T.sources[source] ?? source },
        { title: T.decided, sort: "createTime", cell: decided },
      ],
      row: ({ userId }) => (page.may("GET /api/user/{id}/roles") ? `/users/${userId}/roles` : null),
      load: (query) => load(page, query),
      empty: T.nobody,
    }),
  );
}

/**
 * Return a page of assignments; those of a user are asked for by id.
 * @param {Page} page
 * @param {Record<string, any>} query
 */
async function load(page, query) {
  const asked = await byUserId(page, query);
  return asked ? (await page.call("GET", "/api/assignment/list", { query: asked })).data : NONE;
}
