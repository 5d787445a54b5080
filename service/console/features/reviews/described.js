// @ts-check
/** Reviews: their state, what they ask about, and how far they are. */
import { badge, h } from "../../core/dom.js";
import { roleName } from "../../parts/seed.js";
import { REVIEWS as T } from "./strings.js";
import { enumerated, LIST } from "../../strings/common.js";

/** @typedef {import("./waiting.js").Review} Review */

const KINDS = /** @type {Record<string, string>} */ ({ open: "info", closing: "warn", closed: "good" });
/** The most users whose names are read; others are shown by their id. */
const MOST = 10;

/** Return the state of a review, in a badge. @param {Review} review */
export function stateOf({ state }) {
  return badge(T.states[state] ?? state, KINDS[state]);
}

/** Return how many items are decided, as a bar and in words. @param {Review} review */
export function progressOf({ progress: { items, decided } }) {
  const text = T.of({ some: decided, all: items });
  return h(
    "span",
    { class: "share-done" },
    h("progress", { max: String(items), value: decided, "aria-label": text }),
    " ",
    h("small", null, text),
  );
}

/**
 * Return names, and the ids of those that the caller may not read or that are deleted.
 * @param {boolean} readable @param {readonly number[]} ids @param {(id: number) => Promise<string>} read
 */
async function names(readable, ids, read) {
  const answers = await Promise.allSettled(readable ? ids.slice(0, MOST).map(read) : []);
  return enumerated(
    ids.map((id, place) => {
      const answer = answers[place];
      return answer?.status === "fulfilled" ? answer.value : `#${id}`;
    }),
  );
}

/** @param {Page} page @param {readonly number[]} ids */
async function userNames(page, ids) {
  const { me } = page;
  const others = await names(
    page.may("GET /api/user/{id}"),
    ids.filter((id) => id !== me.id),
    async (id) => (await page.call("GET", "/api/user/{id}", { path: { id } })).data.userName,
  );
  return enumerated([ids.includes(me.id) && me.name, others]);
}

/** @param {Page} page @param {readonly number[]} ids */
function rolesOf(page, ids) {
  return names(page.may("GET /api/role/{id}"), ids, async (id) =>
    roleName((await page.call("GET", "/api/role/{id}", { path: { id } })).data),
  );
}

/** @param {Page} page @param {readonly number[]} ids */
async function rolesText(page, ids) {
  if (!page.may("GET /api/role/{id}")) return T.scopes.roleCount({ n: ids.length });
  return T.scopes.roleIds({ names: await rolesOf(page, ids) });
}

/** @param {Page} page @param {readonly number[]} ids */
async function usersText(page, ids) {
  if (!page.may("GET /api/user/{id}")) return T.scopes.userCount({ n: ids.length });
  return T.scopes.userIds({ names: await userNames(page, ids) });
}

/** Return what a review asks about, in words. @param {Page} page @param {Review} review */
export async function scopeText(page, review) {
  const scope = /** @type {import("../../types/api").ReviewScope} */ (review.scope ?? {});
  const parts = [
    scope.roleIds && (await rolesText(page, scope.roleIds)),
    scope.userIds && (await usersText(page, scope.userIds)),
    scope.codes && T.scopes.codes({ names: enumerated(scope.codes) }),
    scope.services && T.scopes.services({ names: enumerated(scope.services) }),
    scope.endless && T.scopes.endless,
    scope.unusedDays && T.scopes.unusedDays({ days: String(scope.unusedDays) }),
  ].filter(Boolean);
  return parts.join(LIST.semicolon) || T.everything;
}

/** Return who decides in a review, in words. @param {Page} page @param {Review} review */
export async function reviewersText(page, { reviewerIds, reviewerCode }) {
  const parts = [
    T.holders,
    reviewerCode !== null && T.holdersOf({ code: reviewerCode }),
    reviewerIds !== null && T.only({ names: await userNames(page, reviewerIds) }),
  ];
  return enumerated(parts);
}
