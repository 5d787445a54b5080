// @ts-check
/** Users from a table. */
import { h } from "../core/dom.js";
import { USER } from "../parts/columns.js";
import { importing } from "../parts/transfer.js";
import { USERS } from "../strings/users.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.crumbs(["/users", USERS.title]);
  page.title(USERS.importTitle);
  const help = h("p", null, USERS.importText);
  page.put(importing(page, { template: "/api/user/import", help, example: USER, back: "/users" }));
}
