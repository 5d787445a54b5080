// @ts-check
/** Goes anywhere by name: to a page, a user, a role, a resource, or the explanation of a decision. */
import { h } from "../core/dom.js";
import { match, navigation } from "../core/router.js";
import { session } from "../core/session.js";
import { OWN } from "../navigation.js";
import { PALETTE as T } from "../strings/find.js";
import { FRAME } from "../strings/frame.js";
import { combobox } from "./combobox.js";
import { dialog } from "./dialog.js";

/** How many records of a kind are listed. */
const MOST = 5;
/** `r`, the revision, and the digests of the static policy and of the question. */
const DECISION = /^r\d+(?:\.\d+)?-[0-9a-f]{8}-[0-9a-f]{12}$/;

/** @typedef {import("./combobox.js").Suggestion} Suggestion */

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
  const kinds = await Promise.allSettled([users, roles, resources].map((find) => find(text, signal)));
  return [...shown, ...kinds.flatMap((kind) => (kind.status === "fulfilled" ? kind.value : []))];
}

/** @param {string} text In lower case. @returns {Suggestion[]} */
function pages(text) {
  const all = [["/", FRAME.home], ...navigation().flatMap(([, entries]) => entries), ...OWN];
  return all
    .filter(([path, title]) => title.toLowerCase().includes(text) && offered(path))
    .map(([path, title]) => ({ text: title, group: T.pages, value: path }));
}

/** @param {string} path */
function offered(path) {
  const view = match(path)?.view;
  return view !== undefined && session.mayCall(view.operation);
}

/** @param {string} keyword @param {AbortSignal} signal @returns {Promise<Suggestion[]>} */
async function users(keyword, signal) {
  if (!session.mayCall("GET /api/user/list") || !session.mayCall("GET /api/user/{id}")) return [];
  const query = { keyword, size: MOST, sort: "userName" };
  const { data } = await session.call("GET", "/api/user/list", { query, signal });
  return data.items.map(({ id, userName, nickName }) => ({
    text: userName,
    note: nickName,
    group: T.users,
    value: `/users/${id}`,
  }));
}

/** @param {string} keyword @param {AbortSignal} signal @returns {Promise<Suggestion[]>} */
async function roles(keyword, signal) {
  if (!session.mayCall("GET /api/role/list") || !session.mayCall("GET /api/role/{id}")) return [];
  const query = { keyword, size: MOST, sort: "roleName" };
  const { data } = await session.call("GET", "/api/role/list", { query, signal });
  return data.items.map(({ id, roleCode, roleName }) => ({
    text: roleName,
    note: roleCode,
    group: T.roles,
    value: `/roles/${id}`,
  }));
}

/** @param {string} keyword @param {AbortSignal} signal @returns {Promise<Suggestion[]>} */
async function resources(keyword, signal) {
  if (!session.mayCall("GET /api/resource/list") || !session.mayCall("GET /api/resource/{id}")) return [];
  const query = { keyword, size: MOST, sort: "path" };
  const { data } = await session.call("GET", "/api/resource/list", { query, signal });
  return data.items.map(({ id, method, path, resourceName }) => ({
    text: `${method} ${path}`,
    note: resourceName,
    group: T.resources,
    value: `/resources/${id}`,
  }));
}
