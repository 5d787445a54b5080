// @ts-check
/**
 * Shows the view of the address. Addresses are fragments, such as `#/users/17?tab=roles`, so that every view and filter
 * has a deep link and the server needs no routes.
 */
import { guideTo, navigationOf, ownOf } from "../navigation.js";
import { FRAME } from "../strings/frame.js";
import { titleOf, trouble } from "../parts/trouble.js";
import { Problem } from "../client/portcullis.js";
import { button, h, link, unsaved } from "./dom.js";
import { focusIn, focusOn, forgetFocus } from "./focus.js";
import { Page } from "./page.js";
import { session } from "./session.js";

/** @typedef {import("../types/view").View} View */
/** @typedef {{view: View, params: Record<string, string>}} Match */

/**
 * Where the reader was: the focus, and how far the page was scrolled.
 * @typedef {{focus: import("./focus.js").Mark | null, top: number}} Spot
 */
/** The spots of the entries of the history while the reader is elsewhere. @type {Map<number, Spot>} */
const left = new Map();

/** All views. @type {View[]} */ let views = [];
/** The views, and the parts of them, that have been loaded. @type {Set<View | import("../types/view").Part>} */
const reached = new Set();

/** The id of a record in an address; what is none leads to no view. */
const ID = /^[1-9]\d{0,18}$/;
/** The patterns of views that have the way to them above their heading, for which room is left while they load. */
const BELOW = /\{|\/(?:new|import|register|coverage|compare)$/;
/** How long the view before stays in place of a skeleton, in milliseconds: for the same record longer. */
const PATIENCE = { other: 300, same: 600 };

/** @type {AbortController} */ let controller = new AbortController();
/** @type {(() => void) | null} */ let leave = null;
/** @type {HTMLElement} */ let outlet;
/** @type {(title: string, path: string) => void} */ let announced;
/** @type {() => Promise<void>} */ let identified;
/** @type {Page | null} */ let shown = null;
let hash = "";
/** The entry of the history that is shown, and how many stand before it. */
let [entry, position] = [0, 0];
let latest = 0;
/** Whether the address is on its way back to the entry that is shown. */
let returning = false;
/** Whether the reader is asked if they want to leave. */
let asking = false;

/** What pages ask of this module. @type {import("./page.js").Router} */
const ROUTER = {
  announce: (title, path) => announced(title, path),
  readdress(target, push) {
    hash = target;
    if (push) {
      left.set(entry, spot());
      entry = ++latest;
      position += 1;
      history.pushState({ entry, position }, "", hash);
    } else history.replaceState({ entry, position }, "", hash);
  },
  async cutOff(sent) {
    if (!shown) return; // the session has ended, which says more
    const { tell } = await import("../parts/dialog.js");
    tell(sent ? FRAME.cutOff : FRAME.notSent);
  },
  reload: () => show({ same: true }),
  shown: () => shown,
};

/** Take the views among which addresses choose. @param {View[]} all */
export function useViews(all) {
  views = all;
}

/** Return the groups of the navigation, with the entries of all views. */
export function navigation() {
  return navigationOf(views);
}

/** Return the entries of the pages about the caller's own account, with those of all views. */
export function ownEntries() {
  return ownOf(views);
}

/** Return the page that is shown. */
export function page() {
  return /** @type {Page} */ (shown);
}

/** Find the view of a path. @param {string} path @returns {Match | null} */
export function match(path) {
  const steps = path.split("/");
  for (const view of views) {
    const pattern = view.pattern.split("/");
    if (pattern.length !== steps.length) continue;
    /** @type {Record<string, string>} */ const params = {};
    const fits = pattern.every((part, place) => {
      if (!part.startsWith("{")) return part === steps[place];
      params[part.slice(1, -1)] = decoded(steps[place]);
      return part === "{id}" ? ID.test(steps[place]) : steps[place] !== "";
    });
    if (fits) return { view, params };
  }
  return null;
}

/** Tell whether the caller may see the view of a path. @param {string} path */
export function offers(path) {
  const view = match(path)?.view;
  return view !== undefined && session.mayCall(view.operation);
}

/**
 * Show the view of the address in `place` from now on.
 * @param {HTMLElement} place
 * @param {(title: string, path: string) => void} titled Is told the title of each view, and its path.
 * @param {() => Promise<void>} identify Finds out anew what the caller may do.
 */
export function start(place, titled, identify) {
  outlet = place;
  announced = titled;
  identified = identify;
  history.scrollRestoration = "manual"; // what is scrolled to has to be loaded first
  ({ entry, position } = { entry: 0, position: 0, ...history.state });
  latest = Math.max(latest, entry);
  hash = location.hash;
  history.replaceState({ entry, position }, "");
  addEventListener("hashchange", moved);
  addEventListener("click", chosenAgain);
  addEventListener("beforeunload", (event) => {
    if (unsaved.size) event.preventDefault();
  });
  return show({ first: true });
}

/** Take the view away: the session has ended. */
export function stop() {
  removeEventListener("hashchange", moved);
  removeEventListener("click", chosenAgain);
  controller.abort();
  unsaved.clear();
  left.clear();
  shown = null;
}

/** Load the view anew whose link is followed while it is shown, unless something is typed. @param {MouseEvent} event */
function chosenAgain({ target }) {
  const anchor = target instanceof Element && target.closest("a");
  if (anchor && anchor.getAttribute("href") === location.hash && !unsaved.size) show({});
}

async function moved() {
  if (returning) {
    returning = false;
    return;
  }
  const known = () => history.state?.entry;
  if (asking) {
    if (known() <= entry) cancelled(1); // the answer is about where the address leads by then
    return;
  }
  if (location.hash === hash && known() !== undefined) return;
  if (known() < entry && cancelled(1)) return stay();
  if (unsaved.size && !(await confirmed())) return stay();
  cancelled(Infinity);
  left.set(entry, spot());
  const back = left.has(known());
  position = history.state?.position ?? position + 1;
  entry = known() ?? ++latest;
  hash = location.hash;
  history.replaceState({ entry, position }, "");
  await show({ back });
}

/**
 * Cancel the dialogs that are open, that on top first, as Escape does; returns how many there were.
 * @param {number} most
 */
function cancelled(most) {
  const open = [...document.querySelectorAll("dialog[open]")].reverse().slice(0, most);
  for (const dialog of open) dialog.dispatchEvent(new Event("cancel", { cancelable: true }));
  return open.length;
}

/** Bring the address back to the view that is shown: the reader stays. */
function stay() {
  const far = position - (history.state?.position ?? position + 1);
  if (far === 0) return;
  returning = true;
  history.go(far);
}

async function confirmed() {
  asking = true;
  try {
    const { ask } = await import("../parts/dialog.js");
    return (
      (await ask({
        title: FRAME.leave,
        text: FRAME.leaveText,
        confirm: FRAME.leaveConfirm,
        danger: true,
      })) !== false
    );
  } finally {
    asking = false;
  }
}

/** @param {{same?: boolean, back?: boolean, first?: boolean}} how */
async function show({ same = false, back = false } = {}) {
  const before = same ? { focus: null, top: scrollY } : back ? left.get(entry) : undefined;
  if (!same) forgetFocus();
  controller.abort();
  controller = new AbortController();
  unsaved.clear();
  leave?.();
  leave = null;
  const [path, search = ""] = (hash.slice(1) || "/").split(/\?(.*)/s);
  const matched = match(path);
  const kin = recordOf(shown?.path ?? "");
  const made = (shown = new Page(
    path,
    new URLSearchParams(search),
    matched?.params ?? {},
    controller.signal,
    ROUTER,
  ));
  const { signal } = made;
  const frame = h(
    "div",
    { class: "page", dataset: { path } },
    made.above,
    h(
      "div",
      { class: "head" },
      h("div", { class: "titled" }, made.heading, guideTo(path), made.state),
      made.actions,
    ),
    made.body,
  );
  made.body.setAttribute("aria-busy", "true");
  made.above.hidden = !BELOW.test(matched?.view.pattern ?? "");
  const put = (/** @type {Element} */ shape) => {
    if (signal.aborted || shape.isConnected) return;
    outlet.replaceChildren(shape);
    if (!same) scrollTo(0, 0);
  };
  const place = () => put(frame);
  const waits = () => h("p", { class: "loading", role: "status" }, FRAME.loading);
  const late = setTimeout(
    () => {
      if (made.body.childElementCount === 0) made.body.append(waits());
      if (made.heading.textContent) return place();
      // A head that came later would push down what stands below it, so this is another page, which moves nothing.
      put(h("div", { class: "page" }, waits()));
      made.titled = place;
    },
    PATIENCE[same || (matched?.params.id && kin === recordOf(path)) ? "same" : "other"],
  );
  try {
    if (!matched) refuse(made, FRAME.nothingHere, FRAME.nothingHereText);
    else if (!(await may(matched.view.operation))) {
      if (signal.aborted) return;
      made.refused = true;
      refuse(
        made,
        FRAME.notYours,
        FRAME.notYoursText({ operation: matched.view.operation ?? "" }),
        button(FRAME.again, () => again(made), { icon: "refresh" }),
        matched.view.operation?.startsWith("GET ") && refused(made, matched.view.operation),
      );
    } else {
      const { view, parts } = await loaded(matched.view);
      if (signal.aborted) return;
      const ending = (await view(made, parts)) ?? null;
      if (signal.aborted) ending?.();
      else leave = ending;
    }
  } catch (problem) {
    if (signal.aborted) return;
    if (!made.heading.textContent) made.title(entryOf(path) ?? titleOf(problem));
    if (!made.above.childElementCount && path !== "/") made.crumbs(above(path) ?? ["/", FRAME.home]);
    made.put(trouble(problem, () => made.reload(), undefined, made.heading.textContent ?? ""));
  } finally {
    clearTimeout(late);
  }
  if (signal.aborted) return;
  made.above.hidden ||= made.above.childElementCount === 0;
  place();
  made.body.removeAttribute("aria-busy");
  if (!same && !document.querySelector("dialog[open], body.drawn") && !outlet.querySelector(":focus"))
    made.heading.focus({ preventScroll: true });
  if (before) await comeBack(made, before);
}

/** Return the part of a path that tabs of a record share: `/users/17`. @param {string} path */
function recordOf(path) {
  return path.split("/", 3).join("/");
}

/** Return where the reader is. @returns {Spot} */
function spot() {
  return { focus: focusIn(outlet), top: scrollY };
}

/**
 * Put the reader where they were once the whole view is there, unless they go elsewhere meanwhile.
 * @param {Page} made
 * @param {Spot} before
 */
async function comeBack(made, { focus, top }) {
  const waiting = new AbortController();
  const signal = AbortSignal.any([made.signal, waiting.signal]);
  for (const event of ["wheel", "touchmove", "keydown", "pointerdown"])
    addEventListener(event, () => waiting.abort(), { signal, passive: true });
  await made.complete();
  if (signal.aborted) return;
  waiting.abort();
  scrollTo(0, top);
  if (focus) focusOn(focus, outlet);
}

/**
 * Return whether the caller may see a view; what they may do is found out anew before they are refused.
 * @param {string | undefined} operation
 */
async function may(operation) {
  if (!session.mayCall(operation)) await identified();
  return session.mayCall(operation);
}

/** Show the view that is kept from the caller, if they may see it now. */
export async function reconsider() {
  if (shown?.refused && session.mayCall(match(shown.path)?.view.operation)) await shown.reload();
}

/**
 * Load a view, and the parts of it that the caller may see. A browser asks only once for a file that could not be
 * loaded, and a new page, as is needed after an upgrade, costs the session. So the first time this makes sure that the
 * service can be reached.
 * @param {View} matched
 */
async function loaded(matched) {
  const offered = (matched.parts ?? []).filter(({ operation }) => session.mayCall(operation));
  const all = [matched, ...offered];
  if (!all.every((each) => reached.has(each))) {
    const answer = await fetch(import.meta.url, { cache: "no-cache" }).catch(() => null);
    if (!answer || answer.status >= 500) throw new Problem(0, { code: "unreachable" });
  }
  try {
    const [{ show: view }, ...parts] = await Promise.all([
      matched.load(),
      ...offered.map(({ load }) => load()),
    ]);
    for (const each of all) reached.add(each);
    return { view, parts: parts.map(({ part }) => part) };
  } catch (error) {
    throw error instanceof TypeError ? new Problem(0, { code: "outdated" }) : error;
  }
}

/** Return what the navigation calls the view of a path; undefined if it has no entry for it. @param {string} path */
function entryOf(path) {
  return entries().find(([own]) => own === path)?.[1];
}

/** Return the way to the view of the navigation that a path belongs to; null for none. @param {string} path */
function above(path) {
  const belongs = entries()
    .filter(([own]) => path.startsWith(`${own}/`) && offers(own))
    .sort(([first], [second]) => second.length - first.length);
  return belongs.length > 0 ? /** @type {[string, string]} */ (belongs[0].slice(0, 2)) : null;
}

/** Return the entries of the navigation, and those of the caller's account. */
export function entries() {
  return [...navigation().flatMap(([, all]) => all), ...ownEntries()];
}

/** @param {Page} made @param {string} title @param {string} text @param {...import("./dom.js").Child} actions */
function refuse(made, title, text, ...actions) {
  const way = above(made.path);
  made.title(title);
  if (way) made.crumbs(way);
  made.put(
    h("p", null, text),
    actions.length > 0 && h("div", { class: "actions" }, actions),
    h("p", null, link("/", FRAME.home)),
  );
}

/**
 * Return a button that sends what a refused view would read. The refusal, which is logged as any other, names the roles
 * that the caller may ask for.
 * @param {Page} made
 * @param {string} operation
 */
function refused(made, operation) {
  return button(FRAME.ask, async () => {
    try {
      await made.call("GET", operation.slice(4), { path: made.params });
    } catch (problem) {
      if (made.signal.aborted) return;
      const named = problem instanceof Problem && problem.document.requestable?.length;
      made.put(
        trouble(problem),
        !named && h("p", null, FRAME.noneOpens),
        h("p", null, link("/", FRAME.home)),
      );
      return;
    }
    await made.reload();
  });
}

/** Look again whether the caller may see the view that was refused, and say so if not. @param {Page} made */
async function again(made) {
  const { tell } = await import("../parts/dialog.js");
  const { attempt } = await import("../parts/preview.js");
  await attempt(FRAME.again, identified);
  if (!made.signal.aborted) tell(FRAME.stillNotYours);
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
