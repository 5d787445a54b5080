// @ts-check
/**
 * What is suggested in fields: requests, permission codes, users and roles, as far as the caller may list them. Each
 * function returns the `wrap` of a field, or undefined where nothing can be suggested.
 */
import { combobox } from "./combobox.js";
import { SUGGESTED as T } from "../strings/find.js";
import { OWN, objectOf } from "./resources.js";
import { menuTitle, roleName } from "./seed.js";

/** How many suggestions of a kind are shown. */
const MOST = 8;
const DOCUMENT = "/docs/openapi.json";
const METHODS = new Set(["get", "post", "put", "patch", "delete"]);

/** @typedef {import("./combobox.js").Suggestion} Suggestion */
/** @typedef {(input: HTMLInputElement) => HTMLElement} Wrap */
/** @typedef {(text: string, signal: AbortSignal) => Promise<Suggestion[]>} Find */
/** @typedef {{method: string, path: string}} Request */

/** The routes of this service, read once. @type {Promise<Request[]> | null} */ let routes = null;

/**
 * Suggest paths: those of registered resources, and those of the routes of this service.
 * @param {Page} page
 * @param {() => {method?: string | null | undefined, service?: string | null | undefined}} [chosen] What the form
 *   has chosen beside the path.
 * @returns {Wrap}
 */
export function paths(page, chosen = () => ({})) {
  return (input) =>
    combobox(input, async (text, signal) => {
      const { method, service } = chosen();
      const fitting = (service ?? OWN) === OWN ? await ownPaths(text, method) : [];
      const registered = page.may("GET /api/resource/list")
        ? await requests(page, { path: text, method, service: service ?? OWN }, signal)
        : [];
      const known = new Set(registered.map(({ path }) => path));
      return [
        ...[...known].map((path) => ({ text: path, group: T.registered })),
        ...fitting.filter((path) => !known.has(path)).map((path) => ({ text: path, group: T.routes })),
      ];
    });
}

/**
 * Suggest whole requests to a service, such as `GET /orders`.
 * @param {Page} page @param {string} service
 * @returns {Wrap | undefined}
 */
export function requestsOf(page, service) {
  if (!page.may("GET /api/resource/list")) return undefined;
  return (input) =>
    combobox(input, async (text, signal) =>
      (await requests(page, { ...asked(text), service }, signal)).map(({ method, path }) => ({
        text: `${method} ${path}`,
      })),
    );
}

/**
 * Suggest requests to any service: registered ones, with the service before those of another one.
 * @param {Page} page
 * @returns {Wrap | undefined}
 */
export function anyRequests(page) {
  if (!page.may("GET /api/resource/list")) return undefined;
  return (input) =>
    combobox(input, async (text, signal) => {
      const [, service, request] = /^(?:([a-z]\S*)\s+)?(.*)$/.exec(text) ?? [];
      const matches = await requests(page, { ...asked(request ?? ""), service }, signal);
      return matches.map((resource) => ({ text: objectOf(resource) }));
    });
}

/**
 * Suggest permission codes: those of Buttons.
 * @param {Page} page @param {{several?: boolean}} [options] Whether the field takes several.
 * @returns {Wrap | undefined}
 */
export function codes(page, options) {
  if (!page.may("GET /api/menu/list")) return undefined;
  return (input) => combobox(input, findCodes(page), options);
}

/**
 * Suggest names of users.
 * @param {Page} page @param {{several?: boolean}} [options] Whether the field takes several.
 * @returns {Wrap | undefined}
 */
export function userNames(page, options) {
  if (!page.may("GET /api/user/list")) return undefined;
  const find = async (/** @type {string} */ keyword, /** @type {AbortSignal} */ signal) => {
    const query = { keyword, size: MOST, sort: "userName" };
    const { data } = await page.call("GET", "/api/user/list", { query, signal });
    return data.items.map(({ userName, nickName }) => ({ text: userName, note: nickName }));
  };
  return (input) => combobox(input, find, options);
}

/** Suggest codes of roles. @param {Page} page @returns {Wrap | undefined} */
export function roleCodes(page) {
  if (!page.may("GET /api/role/list")) return undefined;
  return (input) => combobox(input, findRoles(page));
}

/**
 * Suggest codes of roles or of permissions, several in a field; those that may not be listed are not suggested.
 * @param {Page} page @param {() => boolean} roles Whether the field takes roles at the moment.
 * @returns {Wrap}
 */
export function rolesOrCodes(page, roles) {
  return (input) =>
    combobox(input, (text, signal) => (roles() ? findRoles : findCodes)(page)(text, signal), {
      several: true,
    });
}

/** @param {Page} page @returns {Find} */
function findCodes(page) {
  return async (authMark, signal) => {
    if (!page.may("GET /api/menu/list")) return [];
    const query = { authMark, menuType: "Button", size: MOST, sort: "authMark" };
    const { data } = await page.call("GET", "/api/menu/list", { query, signal });
    return data.items.map((button) => ({ text: button.authMark ?? "", note: menuTitle(button) }));
  };
}

/** @param {Page} page @returns {Find} */
function findRoles(page) {
  return async (keyword, signal) => {
    if (!page.may("GET /api/role/list")) return [];
    const query = { keyword, size: MOST, sort: "roleCode" };
    const { data } = await page.call("GET", "/api/role/list", { query, signal });
    return data.items.map((role) => ({ text: role.roleCode, note: roleName(role) }));
  };
}

/** Return what of a typed request is known: `GET /orders`, or only a part of its path. @param {string} text */
export function asked(text) {
  const [, method, path] = /^\s*(?:(GET|POST|PUT|PATCH|DELETE)\s+)?(.*?)\s*$/i.exec(text) ?? [];
  return { method: method?.toUpperCase(), path };
}

/**
 * @param {Page} page @param {Record<string, any>} filters @param {AbortSignal} signal
 * @returns {Promise<(Request & {service: string})[]>}
 */
async function requests(page, filters, signal) {
  const query = { ...filters, size: MOST, sort: "path" };
  return (await page.call("GET", "/api/resource/list", { query, signal })).data.items;
}

/** Return paths of this service that contain a text. @param {string} text @param {string | null} [method] */
async function ownPaths(text, method) {
  routes ??= fetch(DOCUMENT)
    .then(async (response) => (response.ok ? listed(await response.json()) : []))
    .catch(() => {
      routes = null; // the next field asks again
      return [];
    });
  const fitting = (await routes).filter(
    (route) => (!method || route.method === method) && route.path.includes(text),
  );
  return [...new Set(fitting.map(({ path }) => path))].slice(0, MOST);
}

/** @param {{paths: Record<string, Record<string, any>>}} document @returns {Request[]} */
function listed(document) {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations)
      .filter((method) => METHODS.has(method))
      .map((method) => ({ method: method.toUpperCase(), path })),
  );
}
