// @ts-check
/**
 * The views. One is offered when the caller may call its operation; `menu` is the name of the Menu of the service's
 * catalogue under which the navigation shows it.
 */

/**
 * @typedef {object} View
 * @property {string} pattern
 * @property {() => Promise<{show: (page: import("./router.js").Page) => Promise<(() => void) | void>}>} load
 * @property {string} [operation] Such as `GET /api/user/list`; without one, every user may see the view.
 * @property {string} [menu]
 */

/** @type {View[]} */
export const VIEWS = [
  { pattern: "/", load: () => import("../views/home.js") },
  { pattern: "/account", load: () => import("../views/account.js") },
  { pattern: "/account/devices", load: () => import("../views/devices.js") },
  { pattern: "/account/sign-ins", load: () => import("../views/sign-ins.js") },
];
