// @ts-check
/** The page that a view gets: what it was asked for, and what it may do. */
import { Problem } from "../client/portcullis.js";
import { ACTION } from "../strings/common.js";
import { h, link } from "./dom.js";
import { session } from "./session.js";

/**
 * What pages ask of the router.
 * @typedef {object} Router
 * @property {(title: string, path: string) => void} announce Takes the title of a view, and its path.
 * @property {(hash: string, push: boolean) => void} readdress Changes the address only; `push` makes an entry of the
 *   history.
 * @property {(sent: boolean) => Promise<void>} cutOff Says that leaving a page has cut off a change; `sent`: its
 *   request may have arrived.
 * @property {() => Promise<void>} reload Shows the view of the address again.
 * @property {() => Page | null} shown Returns the page that is shown.
 */

/**
 * True if a request that leaving the page ends would have saved something.
 * @param {string} method @param {string} template @param {{dryRun?: boolean, signal?: AbortSignal}} [options]
 */
function saves(method, template, { dryRun, ...options } = {}) {
  return method !== "GET" && !dryRun && !("signal" in options) && template !== "/api/policy/explain";
}

/** A view that is shown: what it was asked for, and what it may do. */
export class Page {
  /**
   * @param {string} path
   * @param {URLSearchParams} query
   * @param {Record<string, string>} params
   * @param {AbortSignal} signal Aborts when the view is left.
   * @param {Router} router
   */
  constructor(path, query, params, signal, router) {
    this.path = path;
    this.query = query;
    this.params = params;
    this.signal = signal;
    this.router = router;
    /** Send a request; ends when the view is left. Throws `Problem`. @type {import("../types/call.js").Call} */
    this.call = async (
      /** @type {any} */ method,
      /** @type {any} */ template,
      /** @type {any} */ options,
    ) => {
      const sent = !signal.aborted;
      try {
        return await session.call(method, template, { signal, ...options });
      } catch (problem) {
        const ended = signal.aborted && !(problem instanceof Problem);
        if (ended && saves(method, template, options)) router.cutOff(sent).catch(() => {});
        throw problem;
      }
    };
    this.heading = h("h1", { tabindex: "-1" });
    /** Beside the heading: what is unusual about the state of a record. */
    this.state = h("span", { class: "badges" });
    this.actions = h("div", { class: "actions" });
    this.above = h("nav", { class: "crumbs", "aria-label": ACTION.back, hidden: true });
    this.body = h("div", { class: "body" });
    /** Whether the view was kept from the caller. */
    this.refused = false;
    /** Called when there is a title: the head can be shown. @type {() => void} */ this.titled = () => {};
    /** @type {Set<Promise<any>>} */ this.loads = new Set();
  }

  get me() {
    return /** @type {import("./session.js").Me} */ (session.me);
  }

  /** @param {string} operation Such as `POST /api/user`. */
  may(operation) {
    return session.mayCall(operation);
  }

  /**
   * Return a record as the link to its page, for callers who may read it and where there is one.
   * @param {"user" | "role" | "menu" | "resource"} kind @param {number | string | null} id
   * @param {import("./dom.js").Child} shown
   */
  linked(kind, id, shown) {
    return id && this.may(`GET /api/${kind}/{id}`) ? link(`/${kind}s/${id}`, shown) : shown;
  }

  /**
   * Set the heading, and what stands beside it, such as buttons.
   * @param {string} text
   * @param {...import("./dom.js").Child} actions
   */
  title(text, ...actions) {
    this.heading.textContent = text;
    this.state.replaceChildren();
    this.actions.replaceChildren(...actions.flat(9).filter((action) => action instanceof Node));
    if (!this.signal.aborted) this.router.announce(text, this.path);
    this.titled();
  }

  /** Show the way to where this view belongs, such as `["/users", "Users"]`. @param {...[string, string]} steps */
  crumbs(...steps) {
    this.above.hidden = steps.length === 0;
    this.above.replaceChildren(...steps.map(([href, text]) => link(href, text)));
  }

  /** Set the content. @param {...import("./dom.js").Child} nodes */
  put(...nodes) {
    this.body.removeAttribute("aria-busy");
    this.body.replaceChildren(
      .../** @type {Node[]} */ (nodes.flat(9).filter((node) => node instanceof Node)),
    );
  }

  /** Say that a part of the view is still loading. @param {Promise<any>} load */
  during(load) {
    this.loads.add(load);
    const done = () => this.loads.delete(load);
    load.then(done, done);
  }

  /** Wait until all parts of the view have loaded; each may show further ones. */
  async complete() {
    while (this.loads.size) await Promise.allSettled(this.loads);
  }

  /** Go to another view, unless the reader has gone already. @param {string} path */
  go(path) {
    if (!this.signal.aborted) location.hash = path;
  }

  /**
   * Replace members of the query in the address, and show the view again; empty values remove them. With
   * `{show: false}` only the address changes, and with `{push: true}` the way back leads to the address before.
   * Nothing happens once the view has been left: the address is that of another one.
   * @param {Record<string, any>} changes
   * @param {{show?: boolean, push?: boolean}} [options]
   */
  setQuery(changes, { show = true, push = false } = {}) {
    if (this.signal.aborted) return;
    for (const [name, value] of Object.entries(changes)) {
      const text = Array.isArray(value) ? value.join(",") : value;
      if (text === undefined || text === null || text === "" || text === false) this.query.delete(name);
      else this.query.set(name, String(text));
    }
    this.router.readdress(`#${this.path}${this.query.size ? `?${this.query}` : ""}`, push);
    if (show) this.router.reload();
  }

  /** Show the view again, as after a change, unless the reader has left it. */
  async reload() {
    if (!this.signal.aborted) await this.router.reload();
  }

  /** Show the view again if the reader sees it, also if it is another page of the same path by now. */
  async reloadIfShown() {
    if (this.router.shown()?.path === this.path) await this.router.reload();
  }
}
