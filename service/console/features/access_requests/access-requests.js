// @ts-check
/** Requests for roles: the caller's own, those that wait for their decision, and all that they may see. */
import { empty, h, link, linkButton } from "../../core/dom.js";
import * as queue from "../../core/queue.js";
import { REQUESTS as PATH } from "../../navigation.js";
import { roleFilter, roleNames, shownRole } from "../../parts/roles.js";
import { listing } from "../../parts/table.js";
import { coming, time } from "../../parts/time.js";
import { NONE, byUserId } from "../../parts/users.js";
import { RECORD } from "../../strings/common.js";
import { lasting, stateOf } from "./acts.js";
import { REQUESTS as T } from "./strings.js";

/** @typedef {import("./acts.js").AccessRequest} AccessRequest */
/** @typedef {"mine" | "waiting" | "all"} Part */

const PARTS = /** @type {[Part, string][]} */ ([
  ["mine", `${PATH}/own`],
  ["waiting", `${PATH}/waiting`],
  ["all", `${PATH}/all`],
]);

/** @param {Page} page */
export async function show(page) {
  const [roles, waiting] = await Promise.all([roleNames(page), queue.read()]);
  const part = PARTS.find(([, path]) => path === page.path)?.[0] ?? (waiting.length > 0 ? "waiting" : "mine");
  page.title(
    T.title,
    page.may("POST /api/access-request") &&
      linkButton(`${PATH}/new`, T.ask, { icon: "plus", kind: "primary" }),
  );
  page.put(
    h("p", null, T.text),
    h(
      "nav",
      { class: "tabs", "aria-label": RECORD.tabs },
      PARTS.map(([name, path]) => {
        const text = name === "waiting" ? T.tabs.waiting({ n: waiting.length }) : T.tabs[name];
        const anchor = link(path, text);
        if (name === part) anchor.setAttribute("aria-current", "page");
        return anchor;
      }),
    ),
    listing(page, {
      caption: T.captions[part],
      file: "requests",
      filters: part === "waiting" ? [] : filters(part, page, roles),
      columns: columns(part),
      row: ({ id }) => `${PATH}/${id}`,
      load: part === "waiting" ? () => queued() : (query) => load(page, part, query),
      size: part === "waiting" ? 200 : 20,
      most: 200,
      empty: empty(T.none[part]),
    }),
  );
}

/**
 * Return the filters of a part.
 * @param {Part} part @param {Page} page @param {import("../../parts/roles.js").Roles} roles
 */
function filters(part, page, roles) {
  return [
    { name: "state", label: T.state, type: "select", options: Object.entries(T.states) },
    roleFilter(T.role, roles),
    ...(part === "all" && page.may("GET /api/user/list") ? [{ name: "userName", label: T.who }] : []),
  ];
}

/**
 * Return the columns of a part.
 * @param {Part} part
 * @returns {import("../../parts/table.js").Column[]}
 */
function columns(part) {
  const sorts = part !== "waiting"; // these come in the order in which they expire
  return [
    {
      title: T.role,
      cell: shownRole,
      ...(sorts && { sort: "roleCode" }),
    },
    ...(part === "mine"
      ? []
      : [
          {
            title: T.who,
            cell: (/** @type {any} */ { userName }) => userName,
            ...(sorts && { sort: "userName" }),
          },
        ]),
    { title: T.state, cell: stateOf },
    { title: T.how, cell: lasting },
    { title: T.reason, cell: ({ reason }) => reason },
    { title: T.created, cell: ({ createTime }) => time(createTime), ...(sorts && { sort: "createTime" }) },
    ...(sorts
      ? []
      : [
          {
            title: T.deadline,
            cell: (/** @type {any} */ { state, deadline }) => state === "pending" && coming(deadline),
          },
        ]),
  ];
}

async function queued() {
  const items = await queue.read();
  return { items, total: items.length, page: 1, size: 200 };
}

/**
 * Return a page of requests; those of a user are asked for by id.
 * @param {Page} page @param {Part} part @param {Record<string, any>} query
 */
async function load(page, part, query) {
  const asked = await byUserId(page, part === "mine" ? { ...query, userId: page.me.id } : query);
  return asked ? (await page.call("GET", "/api/access-request/list", { query: asked })).data : NONE;
}
