// @ts-check
/** What the views of users share. */
import { badge, badges } from "../core/dom.js";
import { USERS as T } from "../strings/users.js";
import { time } from "./time.js";

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
