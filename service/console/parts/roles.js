// @ts-check
/** Roles as all views show them: by name, in the language of the page if it has one, with the code second. */
import { h } from "../core/dom.js";
import { roleName } from "./seed.js";

/** The most roles of one answer, and whose names a view reads; with more, roles are shown by their codes. */
const MOST = 200;
const LIST = "/api/role/list";

/** @typedef {{roleCode: string, roleName?: string | null}} Named */
/** @typedef {ReturnType<typeof named>} Roles */
/** @typedef {import("../types/api").Operations["GET /api/role/list"]["answer"]} Answer */

/** What each view has read. @type {WeakMap<Page, Promise<Answer>>} */
const known = new WeakMap();

/** Return a role in one line of text, for options and titles. @param {Named} role */
export function roleText(role) {
  const name = roleName(role);
  return name === role.roleCode ? name : `${name} (${role.roleCode})`;
}

/** Return a role for a cell: its name, and its code second. @param {Named} role */
export function shownRole(role) {
  const { roleCode } = role;
  const name = roleName(role);
  const text = name === roleCode ? h("code", null, roleCode) : [name, " ", h("code", null, roleCode)];
  return h("span", { class: "cut role", title: roleText(role) }, text);
}

/**
 * Read the names of the roles, once for a view. Callers who may not list roles get their codes.
 * @param {Page} page
 */
export async function roleNames(page) {
  if (!page.may(`GET ${LIST}`)) return named(null);
  const { items, total } = await (known.get(page) ?? firstOf(page));
  return named(total > MOST ? null : items);
}

/** Read the first roles by name, also for `roleNames`. @param {Page} page */
function firstOf(page) {
  const begun = read(page, 1);
  known.set(page, begun);
  begun.catch(() => known.delete(page));
  return begun;
}

/** @param {Page} page @param {number} number */
async function read(page, number) {
  return (await page.call("GET", LIST, { query: { page: number, size: MOST, sort: "roleName" } })).data;
}

/** @param {readonly import("../types/api").ListedRole[] | null} roles Null where they are not known. */
function named(roles) {
  const names = new Map((roles ?? []).map((role) => [role.roleCode, roleName(role)]));
  const of = (/** @type {string} */ roleCode) => ({ roleCode, roleName: names.get(roleCode) });
  return {
    /** The options of a filter, by code; null where they are not known. */
    options: roles && roles.map((role) => /** @type {[string, string]} */ ([role.roleCode, roleText(role)])),
    /** Return the name of a role; its code where the name is not known. */
    name: (/** @type {string} */ code) => names.get(code) ?? code,
    shown: (/** @type {string} */ code) => shownRole(of(code)),
  };
}

/**
 * Return the filter by role: a choice, or a field for the code where there are too many.
 * @param {string} label @param {Roles} roles @returns {import("./filters.js").Filter}
 */
export function roleFilter(label, { options }) {
  return { name: "roleCode", label, type: options ? "select" : "text", options: options ?? [] };
}

/** Read all roles, by name. @param {Page} page @returns {Promise<import("../types/api").ListedRole[]>} */
export async function allRoles(page) {
  const { items, total } = await firstOf(page);
  const roles = [...items];
  for (let number = 2, more = total > roles.length; more; number += 1) {
    const next = await read(page, number);
    roles.push(...next.items);
    more = next.items.length > 0 && roles.length < next.total;
  }
  return roles;
}
