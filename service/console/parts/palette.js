// @ts-check
/** Goes anywhere by name: to a page, a record, the explanation of a decision, or the request for a role. */
import { h } from "../core/dom.js";
import { entries, offers } from "../core/router.js";
import { session } from "../core/session.js";
import { ALIASES, PALETTE as T, WORDS } from "../strings/find.js";
import { FRAME } from "../strings/frame.js";
import { combobox } from "./combobox.js";
import { dialog } from "./dialog.js";
import { menuTitle, resourceName, roleName } from "./seed.js";

/** How many records of a kind are listed. */
const MOST = 5;
/** `r`, the revision, and the digests of the static policy and of the question. */
const DECISION = /^r\d+(?:\.\d+)?-[0-9a-f]{8}-[0-9a-f]{12}$/;

/** @typedef {import("./combobox.js").Suggestion} Suggestion */
/** @typedef {(record: any) => [text: string, note: string, address: string]} Shown */

/**
 * The kinds of records: their list, what opens one, the order of the list, how one is shown, and the filter that
 * finds it, by default `keyword`. A list without an order is short, and read as a whole.
 * @type {{list: any, needs: string, sort?: string, by?: string, group: string, shown: Shown}[]}
 */
const KINDS = [
  {
    list: "/api/user/list",
    needs: "GET /api/user/{id}",
    sort: "userName",
    group: T.users,
    shown: ({ id, userName, nickName }) => [userName, nickName, `/users/${id}`],
  },
  {
    list: "/api/role/list",
    needs: "GET /api/role/{id}",
    sort: "roleName",
    group: T.roles,
    shown: (role) => [roleName(role), role.roleCode, `/roles/${role.id}`],
  },
  {
    list: "/api/resource/list",
    needs: "GET /api/resource/{id}",
    sort: "path",
    group: T.resources,
    shown: (resource) => [
      `${resource.method} ${resource.path}`,
      resourceName(resource),
      `/resources/${resource.id}`,
    ],
  },
  {
    list: "/api/menu/list",
    needs: "GET /api/menu/{id}",
    sort: "authMark",
    by: "authMark",
    group: T.permissions,
    shown: (menu) => [menu.authMark, menuTitle(menu), `/menus/${menu.id}`],
  },
  {
    list: "/api/access-request/role/list",
    needs: "POST /api/access-request",
    group: T.requestable,
    shown: (role) => [roleName(role), role.roleCode, `/access-requests/new?roleCode=${role.roleCode}`],
  },
];

/** Ask where to go, among what the caller may see, and go there. */
export function palette() {
  const input = h("input", {
    type: "text",
    "aria-label": T.label,
    placeholder: T.label,
    spellcheck: "false",
  });
  const box = dialog(
    T.title,
    combobox(input, destinations, {
      standing: true,
      take: ({ value }) => {
        box.close();
        location.hash = value;
      },
    }),
  );
  box.element.classList.add("palette");
}

/** @param {string} text @param {AbortSignal} signal @returns {Promise<Suggestion[]>} */
async function destinations(text, signal) {
  const shown = pages(text.toLowerCase());
  if (!text) return shown;
  if (DECISION.test(text) && session.mayCall("POST /api/policy/explain"))
    return [{ text, group: T.decision, value: `/policy/explain?decisionId=${text}` }];
  // A kind that can't be asked for at the moment takes nothing from the others.
  const kinds = await Promise.allSettled(KINDS.map((kind) => records(kind, text, signal)));
  return [...shown, ...kinds.flatMap((kind) => (kind.status === "fulfilled" ? kind.value : []))];
}

/** @param {string} text In lower case. @returns {Suggestion[]} */
function pages(text) {
  return [["/", FRAME.home], ...entries()]
    .filter(([path, title]) => named(path, title).some((name) => name.includes(text)) && offers(path))
    .map(([path, title]) => ({ text: title, group: T.pages, value: path }));
}

/**
 * Return the title of a page in all languages, and what else people look for there, in lower case.
 * @param {string} path @param {string} title
 */
function named(path, title) {
  return [title, ...(ALIASES[title] ?? []), WORDS[path] ?? ""].map((name) => name.toLowerCase());
}

/**
 * Read the records of a kind that have a keyword.
 * @param {typeof KINDS[number]} kind @param {string} keyword @param {AbortSignal} signal
 * @returns {Promise<Suggestion[]>}
 */
async function records({ list, needs, sort, by = "keyword", group, shown }, keyword, signal) {
  if (!session.mayCall(`GET ${list}`) || !session.mayCall(needs)) return [];
  const query = sort ? { [by]: keyword, size: MOST, sort } : { size: 200 };
  const { data } = await session.call("GET", list, { query, signal });
  const all = /** @type {ReturnType<Shown>[]} */ (data.items.map(shown));
  const fitting = sort
    ? all
    : all.filter((texts) => texts.join(" ").toLowerCase().includes(keyword.toLowerCase()));
  return fitting.slice(0, MOST).map(([text, note, value]) => ({ text, note, group, value }));
}
