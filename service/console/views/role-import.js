// @ts-check
/** Roles from a table. */
import { h } from "../core/dom.js";
import { importing } from "../parts/transfer.js";
import { S } from "../strings.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.crumbs(["/roles", S.roles.title]);
  page.title(S.roles.importTitle);
  page.put(
    importing(page, { template: "/api/role/import", help: h("p", null, S.roles.importText), back: "/roles" }),
  );
}
