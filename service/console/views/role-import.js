// @ts-check
/** Roles from a table. */
import { h } from "../core/dom.js";
import { ROLE } from "../parts/columns.js";
import { importing } from "../parts/transfer.js";
import { ROLES } from "../strings/roles.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.crumbs(["/roles", ROLES.title]);
  page.title(ROLES.importTitle);
  page.put(
    importing(page, {
      template: "/api/role/import",
      help: h("p", null, ROLES.importText),
      example: ROLE,
      back: "/roles",
    }),
  );
}
