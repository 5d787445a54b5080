// @ts-check
/** Which role passes which request: a table of roles and requests. */
import { bullets, button, h, link } from "../../core/dom.js";
import { csv } from "../../parts/csv.js";
import { ask } from "../../parts/dialog.js";
import { folding } from "../../parts/folding.js";
import { moving } from "../../parts/grid.js";
import { demanded, explaining, objectOf } from "../../parts/policy.js";
import { picker } from "../../parts/picker.js";
import { groupOf, requestOf } from "../../parts/request-line.js";
import { listing } from "../../parts/table.js";
import { save } from "../../parts/transfer.js";
import { allRoles } from "../../parts/roles.js";
import { roleName } from "../../parts/seed.js";
import { POLICY as T } from "../../strings/policy.js";
import { RESOURCES } from "../../strings/resources.js";
import { STEP_UP } from "../../strings/step-up.js";

/** How many roles have a column before the reader chooses others. */
const FIRST = 10;
/** The most requests of a page: each has a link for every role. */
const MOST = 100;
/** The most roles that can be named; of more, the answer has all. */
const NAMED = 200;

/** What tells the states of a cell apart without their colours. @type {Record<string, string>} */
const MARKS = { own: "●", wildcard: "✱", login: "◐", everybody: "○", no: "–" };

/** @typedef {import("../../types/api").MatrixRequest} MatrixRequest */

/** @param {Page} page */
export async function show(page) {
  const all = page.may("GET /api/role/list")
    ? (await allRoles(page)).map((role) => ({ code: role.roleCode, name: roleName(role) }))
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
  const read = async (/** @type {Record<string, any>} */ query) => {
    const at = page.query.get("at");
    const roleCode = roles.length > NAMED ? undefined : roles.map(({ code }) => code);
    return (await page.call("GET", "/api/policy/matrix", { query: { ...query, at, roleCode } })).data;
  };
  /** @param {string | undefined} object */
  const differing = async (object) =>
    (await everything(read, object)).filter(
      (row) => new Set(roles.map(({ code }) => stateOf(row, code) === "no")).size > 1,
    );
  const download = button(
    T.matrixFile,
    async () => {
      const object = page.query.get("object") ?? undefined;
      const rows = page.query.get("differing") ? await differing(object) : await everything(read, object);
      const lines = rows.map((row) => [
        row.object,
        demanded(row.assurance) ?? "",
        ...roles.map(({ code }) => wordsOf(row, code)),
      ]);
      const text = csv([
        [RESOURCES.request, T.layers["assurance"], ...roles.map(({ code }) => code)],
        ...lines,
      ]);
      save(new Blob([text], { type: "text/csv" }), "matrix.csv");
    },
    { icon: "download" },
  );
  const shown = listing(page, {
    caption: T.matrixCaption,
    grid: true,
    groups: folding(
      ({ object }) => groupOf(object),
      roles.length + 1,
      (name, n) => T.group({ name, n }),
    ),
    size: 50,
    most: MOST,
    filters: [
      { name: "object", label: T.part },
      { name: "at", label: T.at, type: "date" },
      { name: "differing", label: T.differing, type: "check" },
    ],
    actions: [
      h("span", { class: "soft" }, T.rolesOf({ n: roles.length, all: all.length })),
      choose,
      download,
    ],
    columns: [
      { title: RESOURCES.request, cell: (row) => requestCell(page, row) },
      ...roles.map(({ code, name }) => ({
        title: name,
        help: code === name ? undefined : code,
        cell: (/** @type {MatrixRequest} */ row) => cell(page, row, code),
      })),
    ],
    load: async ({ page: number = 1, size, object, differing: only }) => {
      if (!only) return read({ page: number, size, object });
      const rows = await differing(object);
      const [at, long] = [Number(number), Number(size)];
      return { items: rows.slice((at - 1) * long, at * long), total: rows.length, page: at, size: long };
    },
  });
  shown.classList.add("matrix");
  moving(shown);
  page.put(h("p", null, T.matrixText), legend(), shown);
}

/** Return the roles that the first requests name: the caller may not list roles. @param {Page} page */
async function passing(page) {
  const { data } = await page.call("GET", "/api/policy/matrix", { query: { size: 200 } });
  const codes = new Set(
    data.items.flatMap((/** @type {MatrixRequest} */ row) => row.roles.map(({ roleCode }) => roleCode)),
  );
  return [...codes].sort().map((code) => ({ code, name: code }));
}

/**
 * Return the rows of all pages, of an order of their own.
 * @param {(query: Record<string, any>) => Promise<import("../../types/api").MatrixRequestPage>} read
 * @param {string | undefined} object
 */
async function everything(read, object) {
  /** @type {MatrixRequest[]} */ const rows = [];
  for (let page = 1; ; page++) {
    const { items, total } = await read({ page, size: 200, object });
    rows.push(...items);
    if (!items.length || rows.length >= total) return rows;
  }
}

/** Return by what a role passes. @param {MatrixRequest} row @param {string} roleCode */
function stateOf({ visitors, roles }, roleCode) {
  const match = roles.find((role) => role.roleCode === roleCode);
  if (!match) return "no";
  if (!match.by.length) return visitors ? "everybody" : "login";
  return match.by.some((code) => !code.includes("*")) ? "own" : "wildcard";
}

/** Return the same in words, with the codes. @param {MatrixRequest} row @param {string} roleCode */
function wordsOf(row, roleCode) {
  const by = row.roles.find((role) => role.roleCode === roleCode)?.by ?? [];
  return [T.passes[stateOf(row, roleCode)], ...by].join(" ");
}

function legend() {
  return bullets(Object.entries(T.passes), ([state, text]) => [mark(state), " ", text], {
    class: "legend",
    "aria-label": T.legend,
  });
}

/** @param {string} state */
function mark(state) {
  return h("span", { class: `held ${state}`, "aria-hidden": "true" }, MARKS[state]);
}

/** @param {Page} page @param {MatrixRequest} row */
function requestCell(page, { object, assurance }) {
  const strong = demanded(assurance);
  return [objectOf(page, object), strong && [" ", h("small", null, STEP_UP.needs(assurance))]];
}

/** @param {Page} page @param {MatrixRequest} row @param {string} roleCode */
function cell(page, row, roleCode) {
  const request = requestOf(row.object);
  const words = wordsOf(row, roleCode);
  const state = stateOf(row, roleCode);
  // One element a cell: there are thousands, and each takes its time to lay out.
  const element =
    request && page.may("POST /api/policy/explain")
      ? link(explaining({ ...request, roleCode, at: page.query.get("at") }), MARKS[state])
      : h("span", { role: "img" }, MARKS[state]);
  element.className = `held ${state}`;
  element.title = words;
  element.ariaLabel = words;
  return element;
}
