// @ts-check
/** Roles from a table. */
import { h } from "../../core/dom.js";
import { ROLE } from "../../parts/columns.js";
import { ROLES } from "../../strings/roles.js";
import { importing } from "./importing.js";
import { OF_ROLES as T } from "./strings.js";

/** @param {import("../../core/page.js").Page} page */
export async function show(page) {
  page.crumbs(["/roles", ROLES.title]);
  page.title(T.title);
  page.put(
    importing(page, {
      template: "/api/role/import",
      help: h("p", null, T.text),
      example: ROLE,
      back: "/roles",
    }),
  );
}
