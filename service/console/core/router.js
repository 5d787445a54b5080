// @ts-check
/**
 * Shows the view of the address. Addresses are fragments, such as `#/users/17?tab=roles`, so that every view and filter
 * has a deep link and the server needs no routes.
 */
import { S } from "../strings.js";
import { trouble } from "../parts/trouble.js";
import { Problem } from "./api.js";
import { h, link, unsaved } from "./dom.js";
import * as session from "./session.js";
import { VIEWS } from "./views.js";

/** @typedef {{view: import("./views.js").View, params: Record<string, string>}} Match */

/** What is kept of an entry of the history while the reader is elsewhere. @type {Map<number, {focus: string | null, top: number}>} */
const left = new Map();

/** The views that have been loaded. @type {Set<import("./views.js").View>} */
const reached = new Set();

/** @type {AbortController} */ let controller = new AbortController();
/** @type {(() => void) | null} */ let leave = null;
/** @type {HTMLElement} */ let outlet;
/** @type {(title: string, path: string) => void} */ let announced;
/** @type {Page | null} */ let shown = null;
let hash = "";
let entry = 0;
let latest = 0;
let returning = false;

/** A view that is shown: what it was asked for, and what it may do. */
export class Page {
  /** @param {string} path @param {URLSearchParams} query @param {Record<string, string>} params */
  constructor(path, query, params) {
    this.path = path;
    this.query = query;
    this.params = params;
    this.signal = controller.signal;
    /** Send a request; ends when the view is left. Throws `Problem`. @type {import("../types/call.js").Call} */
    this.call = (/** @type {any} */ method, /** @type {any} */ template, /** @type {any} */ options) =>
      session.call(method, template, { signal: this.signal, ...options });
    this.heading = h("h1", { tabindex: "-1" });
    this.actions = h("div", { class: "actions" });
    this.above = h("nav", { class: "crumbs", "aria-label": S.action.back, hidden: true });
    this.body = h("div", { class: "body" });
  }

  get me() {
    return /** @type {import("./session.js").Me} */ (session.me);
  }

  /** @param {string} operation Such as `POST /api/user`. */
  may(operation) {
    return session.may(operation);
  }

  /**
   * Set the heading, and what stands beside it, such as buttons.
   * @param {string} text
   * @param {...import("./dom.js").Child} actions
   */
  title(text, ...actions) {
    this.heading.textContent = text;
    this.actions.replaceChildren(...actions.flat(9).filter((one) => one instanceof Node));
    if (!this.signal.aborted) announced(text, this.path);
  }

  /** Show the way to where this view belongs, such as `["/users", "Users"]`. @param {...[string, string]} steps */
  crumbs(...steps) {
    this.above.hidden = steps.length === 0;
    this.above.replaceChildren(...steps.map(([href, text]) => link(href, text)));
  }

  /** Set the content. @param {...import("./dom.js").Child} nodes */
  put(...nodes) {
    this.body.removeAttribute("aria-busy");
    this.body.replaceChildren(.../** @type {Node[]} */ (nodes.flat(9).filter((one) => one instanceof Node)));
  }

  /** Go to another view; `{replace: true}` leaves no entry in the history. @param {string} path @param {{replace?: boolean}} [options] */
  go(path, { replace = false } = {}) {
    if (replace) location.replace(`#${path}`);
    else location.hash = path;
  }

  /**
   * Replace members of the query in the address, and show the view again; empty values remove them. With
   * `{show: false}` only the address changes.
   * @param {Record<string, any>} changes
   * @param {{show?: boolean}} [options]
   */
  setQuery(changes, { show: again = true } = {}) {
    for (const [name, value] of Object.entries(changes)) {
      const text = Array.isArray(value) ? value.join(",") : value;
      if (text === undefined || text === null || text === "" || text === false) this.query.delete(name);
      else this.query.set(name, String(text));
    }
    hash = `#${this.path}${this.query.size ? `?${this.query}` : ""}`;
    history.replaceState({ entry }, "", hash);
    if (again) show({ same: true });
  }

  /** Show the view again, as after a change. */
  reload() {
    return show({ same: true });
  }
}

/** Return the page that is shown. */
export function page() {
  return /** @type {Page} */ (shown);
}

/**
 * Find the view of a path.
 * @param {string} path
 * @returns {Match | null}
 */
export function match(path) {
  const steps = path.split("/");
  for (const view of VIEWS) {
    const pattern = view.pattern.split("/");
    if (pattern.length !== steps.length) continue;
    /** @type {Record<string, string>} */ const params = {};
    const fits = pattern.every((part, place) => {
      if (!part.startsWith("{")) return part === steps[place];
      params[part.slice(1, -1)] = decoded(steps[place]);
      return steps[place] !== "";
    });
    if (fits) return { view, params };
  }
  return null;
}

/**
 * Show the view of the address in `place` from now on.
 * @param {HTMLElement} place
 * @param {(title: string, path: string) => void} titled Is told the title of each view, and its path.
 */
export function start(place, titled) {
  outlet = place;
  announced = titled;
  entry = history.state?.entry ?? 0;
  latest = Math.max(latest, entry);
  hash = location.hash;
  history.replaceState({ entry }, "");
  addEventListener("hashchange", moved);
  addEventListener("beforeunload", (event) => { if (unsaved.size) event.preventDefault(); });
  return show({ first: true });
}

/** Take the view away: the session has ended. */
export function stop() {
  removeEventListener("hashchange", moved);
  controller.abort();
  unsaved.clear();
  left.clear();
  shown = null;
}

async function moved() {
  if (returning) {
    returning = false;
    return;
  }
  const known = history.state?.entry;
  const target = location.hash;
  if (target === hash && known !== undefined) return;
  if (unsaved.size && !(await confirmed())) {
    returning = true;
    if (known === undefined || known > entry) history.back();
    else history.forward();
    return;
  }
  left.set(entry, { focus: focused(), top: scrollY });
  const back = known !== undefined && left.has(known);
  entry = known ?? ++latest;
  hash = target;
  if (known === undefined) history.replaceState({ entry }, "");
  await show({ back });
}

async function confirmed() {
  const { ask } = await import("../parts/dialog.js");
  return (await ask({ title: S.frame.leave, text: S.frame.leaveText, confirm: S.frame.leaveConfirm, danger: true })) !== false;
}

/** @param {{same?: boolean, back?: boolean, first?: boolean}} how */
async function show({ same = false, back = false } = {}) {
  const focus = same ? focused() : null;
  controller.abort();
  controller = new AbortController();
  unsaved.clear();
  leave?.();
  leave = null;
  const [path, search = ""] = (hash.slice(1) || "/").split(/\?(.*)/s);
  const found = match(path);
  const made = (shown = new Page(path, new URLSearchParams(search), found?.params ?? {}));
  const { signal } = made;
  const frame = h("div", { class: "page", dataset: { path } }, made.above, h("div", { class: "head" }, made.heading, made.actions), made.body);
  made.body.setAttribute("aria-busy", "true");
  const place = () => {
    if (signal.aborted || frame.isConnected) return;
    outlet.replaceChildren(frame);
    if (!same) scrollTo(0, 0);
  };
  const late = setTimeout(() => {
    if (made.body.childElementCount === 0) made.body.append(h("p", { class: "loading", role: "status" }, S.frame.loading));
    place();
  }, same ? 600 : 150);
  try {
    if (!found) refuse(made, S.frame.nothingHere, S.frame.nothingHereText);
    else if (!session.may(found.view.operation)) refuse(made, S.frame.notYours, S.frame.notYoursText(found.view.operation ?? ""));
    else {
      const { show: view } = await loaded(found.view);
      if (signal.aborted) return;
      const ending = (await view(made)) ?? null;
      if (signal.aborted) ending?.();
      else leave = ending;
    }
  } catch (problem) {
    if (signal.aborted) return;
    if (!made.heading.textContent) made.title(S.product);
    made.put(trouble(problem, () => made.reload()));
  } finally {
    clearTimeout(late);
  }
  if (signal.aborted) return;
  place();
  made.body.removeAttribute("aria-busy");
  const kept = back ? left.get(entry) : undefined;
  if (kept) scrollTo(0, kept.top);
  const wanted = same ? focus : kept?.focus;
  const restored = wanted ? outlet.querySelector(wanted) : null;
  if (restored instanceof HTMLElement) restored.focus({ preventScroll: true });
  else if (!same && !document.querySelector("dialog[open], body.drawn") && !outlet.querySelector(":focus")) made.heading.focus({ preventScroll: true });
}

/**
 * Load a view. A browser asks only once for a file that could not be loaded, and a new page, as is needed after an
 * upgrade, costs the session. So the first time this makes sure that the service can be reached.
 * @param {import("./views.js").View} view
 */
async function loaded(view) {
  if (!reached.has(view)) {
    const answer = await fetch(import.meta.url, { cache: "no-cache" }).catch(() => null);
    if (!answer || answer.status >= 500) throw new Problem(0, { code: "unreachable" });
  }
  try {
    const module = await view.load();
    reached.add(view);
    return module;
  } catch (error) {
    throw error instanceof TypeError ? new Problem(0, { code: "outdated" }) : error;
  }
}

/** @param {Page} made @param {string} title @param {string} text */
function refuse(made, title, text) {
  made.title(title);
  made.put(h("p", null, text), h("p", null, link("/", S.frame.home)));
}

/** Return a selector of the focused element in the view, null if it has none that stays. */
function focused() {
  const element = document.activeElement;
  if (!element || !outlet.contains(element)) return null;
  for (const name of ["data-key", "name", "href", "id"]) {
    const value = element.getAttribute(name);
    if (value) return `[${name}="${CSS.escape(value)}"]`;
  }
  return null;
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
