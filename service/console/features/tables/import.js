// @ts-check
/** Users or roles from a table. */
import { h } from "../../core/dom.js";
import { examplesOf } from "../../parts/declared.js";
import { readButtons } from "../../parts/menus.js";
import { allRoles } from "../../parts/roles.js";
import { ROLE } from "../../records/role.js";
import { USER } from "../../records/user.js";
import { importing } from "./importing.js";
import { OF_ROLES, OF_USERS } from "./strings.js";

/** @param {Page} page */
export async function show(page) {
  const users = page.path.startsWith(USER.view);
  const [kind, T] = users ? [USER, OF_USERS] : [ROLE, OF_ROLES];
  page.crumbs([kind.view, kind.texts.title]);
  page.title(T.title);
  page.put(
    importing(page, {
      template: `${kind.api}/import`,
      help: h("p", null, T.text),
      example: examplesOf(kind),
      values: async () => ({ ...choicesOf(kind), ...(await codesOf(page, users)) }),
      back: kind.view,
    }),
  );
}

/** Return the values of the columns that have few. @param {import("../../parts/declared.js").Kind} kind */
function choicesOf({ fields }) {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, { type, options }]) => {
      if (type === "check") return [[name, ["true", "false"]]];
      return options
        ? [[name, options.map((option) => String(Array.isArray(option) ? option[0] : option))]]
        : [];
    }),
  );
}

/**
 * Return the codes that a table may have.
 * @param {Page} page
 * @param {boolean} users
 * @returns {Promise<Record<string, string[]>>}
 */
async function codesOf(page, users) {
  if (users && page.may("GET /api/role/list"))
    return { roles: (await allRoles(page)).map(({ roleCode }) => roleCode) };
  if (!users && page.may("GET /api/menu/list"))
    return { permissions: (await readButtons(page)).map(({ code }) => code) };
  return {};
}
