// @ts-check
/** Users from a table. */
import { h } from "../../core/dom.js";
import { USER } from "../../parts/columns.js";
import { USERS } from "../../strings/users.js";
import { importing } from "./importing.js";
import { OF_USERS as T } from "./strings.js";

/** @param {import("../../core/page.js").Page} page */
export async function show(page) {
  page.crumbs(["/users", USERS.title]);
  page.title(T.title);
  const help = h("p", null, T.text);
  page.put(importing(page, { template: "/api/user/import", help, example: USER, back: "/users" }));
}
