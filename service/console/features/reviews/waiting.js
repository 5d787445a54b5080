// @ts-check
/** Which items of reviews wait for the caller's decision, and how many. */
import { covers } from "../../parts/codes.js";
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

/**
 * True if the caller decides in a review, as far as is known here: the service decides that itself.
 * @param {Review} review
 */
export function reviews({ state, reviewerIds, reviewerCode }) {
  const { me } = session;
  if (!me || state !== "open" || !session.mayCall(DECIDES)) return false;
  if (reviewerIds !== null && !reviewerIds.includes(me.id)) return false;
  return reviewerCode === null || me.permissions.some((held) => covers(held, reviewerCode));
}

/** True if the caller may decide about an item, as `reviews`. @param {Review} review @param {ReviewItem} item */
export function decides(review, item) {
  return reviews(review) && item.outcome === null && item.samePerson === null;
}

/**
 * Return items with the names of their roles.
 * @param {readonly import("../../types/api").ReviewItem[]} items @param {import("../../parts/roles.js").Roles} roles
 */
export function named(items, roles) {
  return items.map((item) => ({ ...item, roleName: roles.name(item.roleCode) }));
}

/** Return how many items of a review wait for the caller. Throws `Problem`. @param {Review} review */
export async function waitingIn(review) {
  const left = review.progress.items - review.progress.decided;
  if (left === 0 || !reviews(review)) return 0;
  const { data } = await session.call("GET", "/api/review/{id}/item/list", {
    path: { id: review.id },
    query: { userId: session.me?.id, decided: false, size: 1 },
  });
  return left - data.total;
}

/** Tell how many items wait for the caller, if they decide in reviews at all. Throws `Problem`. */
export async function count() {
  if (session.mayCall(DECIDES)) await read();
  else hooks.counted(0);
}

/** Read how many items wait for the caller, by the id of each open review. Throws `Problem`. */
export async function read() {
  return new Map((await open()).map(([{ id }, number]) => [id, number]));
}

/**
 * Read the open reviews, and how many items of each wait for the caller. Throws `Problem`.
 * @returns {Promise<[Review, number][]>}
 */
export async function open() {
  const { data } = await session.call("GET", "/api/review/list", {
    query: { state: "open", sort: "deadline", size: MOST },
  });
  const counts = await Promise.all(data.items.map(waitingIn));
  hooks.counted(counts.reduce((sum, each) => sum + each, 0));
  return data.items.map((review, place) => [review, counts[place]]);
}
