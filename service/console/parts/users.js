// @ts-check
/** What the views of users share. */
import { badge, badges, h } from "../core/dom.js";
import { USERS as T } from "../strings/users.js";
import { time } from "./time.js";

const MOST_OPTIONS = 200;

/** @typedef {import("../types/api").User} User */

/** Return what is unusual about a user, in badges; null if nothing is. @param {User} user */
export function stateOf({ status, ban, kind, invited, directory }) {
  const unusual = [
    invited && directory === null && badge(T.invited, "info"),
    status !== "enabled" && badge(T.statuses[status], "warn"),
    ban && badge(T.bannedBadge, "bad"),
    kind === "service" && badge(T.kinds.service, "info"),
  ].filter(Boolean);
  return unusual.length ? badges(...unusual) : null;
}

/**
 * Return when a user has signed in last, or that this has never been.
 * @param {User} user
 * @param {{ago?: boolean, day?: boolean}} [options] Those of `time`.
 */
export function lastLogin({ lastLoginTime }, options = {}) {
  return lastLoginTime ? time(lastLoginTime, options) : T.never;
}

/**
 * Return the roles as options of a select, by code; null if the caller may not list them, or if there are too many.
 * @param {Page} page
 * @returns {Promise<[string, string][] | null>}
 */
export async function roleOptions(page) {
  if (!page.may("GET /api/role/list")) return null;
  const { data } = await page.call("GET", "/api/role/list", {
    query: { size: MOST_OPTIONS, sort: "roleName" },
  });
  return data.total > MOST_OPTIONS
    ? null
    : data.items.map((/** @type {import("../types/api").Role} */ role) => [role.roleCode, role.roleName]);
}

/**
 * Return the name of a role, which shows its code when pointed at; the code alone where the name is not known.
 * @param {[string, string][] | null} options Those of `roleOptions`.
 * @param {string} code
 */
export function roleNamed(options, code) {
  const name = options?.find(([key]) => key === code)?.[1];
  return name ? h("span", { class: "cut", title: code }, name) : code;
}

/** A list without records. */
export const NONE = { items: [], total: 0 };

/**
 * Return a query with the id of a user in place of `userName`; null if there is no single user of that name.
 * @param {Page} page
 * @param {Record<string, any>} query
 */
export async function byUserId(page, { userName, ...query }) {
  if (!userName) return query;
  const { data } = await page.call("GET", "/api/user/list", { query: { userName, size: 200 } });
  const user =
    data.items.length === 1 ? data.items[0] : data.items.find((each) => each.userName === userName);
  return user ? { ...query, userId: user.id } : null;
}

/** Read all roles, by name. @param {Page} page @returns {Promise<import("../types/api").ListedRole[]>} */
export async function allRoles(page) {
  const roles = [];
  for (let number = 1, total = 1; roles.length < total; number += 1) {
    const { data } = await page.call("GET", "/api/role/list", {
      query: { page: number, size: 200, sort: "roleName" },
    });
    total = data.items.length ? data.total : 0;
    roles.push(...data.items);
  }
  return roles;
}
