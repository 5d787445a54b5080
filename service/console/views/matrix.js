// @ts-check
/** Which role passes which request: a table of roles and requests. */
import { badge, button, h, link } from "../core/dom.js";
import { ask } from "../parts/dialog.js";
import { moving } from "../parts/grid.js";
import { explaining, objectOf, requestOf } from "../parts/policy.js";
import { picker } from "../parts/picker.js";
import { listing } from "../parts/table.js";
import { allRoles } from "../parts/users.js";
import { POLICY as T } from "../strings/policy.js";
import { RESOURCES } from "../strings/resources.js";

/** How many roles have a column before the reader chooses others. */
const FIRST = 12;
/** The most requests of a page: each has a link for every role. */
const MOST = 100;
/** The most roles that can be named; of more, the answer has all. */
const NAMED = 200;

/** @typedef {import("../types/api").MatrixRequest} MatrixRequest */

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const all = page.may("GET /api/role/list")
    ? (await allRoles(page)).map((role) => ({ code: role.roleCode, name: role.roleName }))
    : await passing(page);
  const asked = (page.query.get("roles") ?? "").split(",").filter(Boolean);
  const roles = asked.length ? all.filter(({ code }) => asked.includes(code)) : all.slice(0, FIRST);
  page.title(T.tab.matrix);
  const choose = button(T.chooseRoles, async () => {
    const control = picker(
      all.map(({ code, name }) => ({ key: code, text: `${name} ${code}` })),
      roles.map(({ code }) => code),
    );
    const done = await ask({
      title: T.chooseRoles,
      confirm: T.applyRoles,
      extra: [{ name: "roles", label: T.rolesShown, type: "custom", control, required: true }],
    });
    if (done) page.setQuery({ roles: done.roles });
  });
  const shown = listing(page, {
    caption: T.matrixCaption,
    size: 50,
    most: MOST,
    filters: [{ name: "object", label: T.part }],
    actions: [h("span", { class: "soft" }, T.rolesOf(roles.length, all.length)), choose],
    columns: [
      { title: RESOURCES.request, cell: (row) => objectOf(page, row.object) },
      ...roles.map(({ code }) => ({
        title: code,
        cell: (/** @type {MatrixRequest} */ row) => cell(page, row, code),
      })),
    ],
    load: async ({ page: number, size, object }) => {
      const roleCode = roles.length > NAMED ? undefined : roles.map(({ code }) => code);
      return (
        await page.call("GET", "/api/policy/matrix", { query: { page: number, size, object, roleCode } })
      ).data;
    },
  });
  shown.classList.add("matrix");
  moving(shown);
  page.put(h("p", null, T.matrixText), shown);
}

/**
 * Return the roles that the first requests name: the caller may not list roles.
 * @param {import("../core/page.js").Page} page
 */
async function passing(page) {
  const { data } = await page.call("GET", "/api/policy/matrix", { query: { size: 200 } });
  const codes = new Set(
    data.items.flatMap((/** @type {MatrixRequest} */ row) => row.roles.map(({ roleCode }) => roleCode)),
  );
  return [...codes].sort().map((code) => ({ code, name: code }));
}

/** @param {import("../core/page.js").Page} page @param {MatrixRequest} row @param {string} roleCode */
function cell(page, { object, visitors, roles }, roleCode) {
  const match = roles.find((role) => role.roleCode === roleCode);
  const request = requestOf(object);
  const shown = !match
    ? h("span", { class: "soft" }, T.no)
    : match.by.length
      ? match.by.map((code) => h("code", null, code))
      : badge(visitors ? T.anyone : T.login, visitors ? "warn" : "info");
  return request && page.may("POST /api/policy/explain")
    ? link(explaining({ ...request, roleCode }), shown)
    : shown;
}
