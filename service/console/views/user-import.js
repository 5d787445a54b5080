// @ts-check
/** Users from a table. */
import { h } from "../core/dom.js";
import { importing } from "../parts/transfer.js";
import { S } from "../strings.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.crumbs(["/users", S.users.title]);
  page.title(S.users.importTitle);
  const help = h("p", null, S.users.importText);
  page.put(importing(page, { template: "/api/user/import", help, back: "/users" }));
}
