// @ts-check
/** Which items of reviews wait for the caller's decision, and how many. */
import { session } from "../../core/session.js";

/** @typedef {import("../../types/api").Review} Review */
/** @typedef {import("../../types/api").ReviewItem & {roleName: string}} ReviewItem */

/** The path of the list of reviews. */
export const PATH = "/reviews";
/** The operation by which a caller decides about an item. */
export const DECIDES = "POST /api/review/{id}/item/{itemId}/decision";
/** The most open reviews that are looked at: the first to end first. */
const MOST = 50;

/** Is told the number of items, whenever it is read. */
export const hooks = { counted: /** @type {(count: number) => void} */ (() => {}) };

/** True if the caller may decide about an item. @param {Review} review @param {ReviewItem} item */
export function decides(review, item) {
  return review.mayDecide && item.outcome === null && item.samePerson === null;
}

/**
 * Return items with the names of their roles.
 * @param {readonly import("../../types/api").ReviewItem[]} items @param {import("../../parts/roles.js").Roles} roles
 */
export function named(items, roles) {
  return items.map((item) => ({ ...item, roleName: roles.name(item.roleCode) }));
}

/** Tell how many items wait for the caller, if they decide in reviews at all. Throws `Problem`. */
export async function count() {
  if (session.mayCall(DECIDES)) await read();
  else hooks.counted(0);
}

/** Read the open reviews, the first to end first. Throws `Problem`. */
export async function read() {
  const { data } = await session.call("GET", "/api/review/list", {
    query: { state: "open", sort: "deadline", size: MOST },
  });
  hooks.counted(data.items.reduce((sum, { waiting }) => sum + (waiting ?? 0), 0));
  return data.items;
}
