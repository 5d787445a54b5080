// @ts-check
/**
 * Keeps the focus in the page. A change replaces what it is about, and a browser that loses the focused element goes to
 * the body, where the keyboard begins anew. Here the focus goes to what stands in its place.
 */

/**
 * Where an element stands: an attribute that it keeps when it is made anew, the name that the reader knows it by, and
 * the steps down to it: a tag, and how many of that tag come before.
 * @typedef {{same: string | null, tag: string, name: string, steps: [string, number][]}} Mark
 */
/**
 * An element that had the focus, and all that it was in, from the outermost to itself.
 * @typedef {{mark: Mark, within: Element[]}} Held
 */

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";

/** What had the focus last. @type {Held | null} */ let last = null;
/** What had it in the view, while it is in a dialog or a message over the view. @type {Held | null} */
let below = null;
/** What has the focus until that which was lost is there again, since lists load. @type {Element | null} */
let standIn = null;
/** @type {() => HTMLElement | null} */ let heading;

/**
 * Keep the focus from now on.
 * @param {() => HTMLElement | null} home Returns what gets the focus when nothing stands in the place of what is gone.
 */
export function keepFocus(home) {
  heading = home;
  for (const [event, listener] of LISTENERS) document.addEventListener(event, listener);
  watching.observe(document.body, { childList: true, subtree: true });
}

/** Leave the focus to the browser: the session has ended. */
export function leaveFocus() {
  for (const [event, listener] of LISTENERS) document.removeEventListener(event, listener);
  watching.disconnect();
  forgetFocus();
}

/** Forget what had the focus: another view follows, and begins at its heading. */
export function forgetFocus() {
  last = below = standIn = null;
}

/** Return where in `place` the focus is; null if it is elsewhere. @param {Element} place */
export function focusIn(place) {
  const { activeElement } = document;
  return activeElement && activeElement !== place && place.contains(activeElement)
    ? markOf(upTo(activeElement, place))
    : null;
}

/**
 * Focus what stands in `place` where the focus was; returns whether there is anything.
 * @param {Mark} mark
 * @param {Element} place
 */
export function focusOn(mark, place) {
  return give(alike(mark, place)) || give(walked(place, mark.steps));
}

const LISTENERS = /** @type {[string, (event: any) => void][]} */ ([
  [
    "focusin",
    ({ target }) => {
      if (target === standIn) return;
      standIn = null;
      below = target.closest("dialog, #messages") ? (below ?? last) : null;
      const within = upTo(target, document.body);
      last = { mark: markOf(within), within };
    },
  ],
  [
    "keydown",
    () => {
      standIn = null;
    },
  ], // the reader goes on from there
  [
    "pointerdown",
    ({ target }) => {
      if (!target.closest(CONTROLS)) forgetFocus();
    },
  ],
]);

const watching = new MutationObserver((changes) => {
  const { activeElement } = document;
  if (!last || (activeElement !== document.body && activeElement !== standIn)) return;
  const element = last.within.at(-1);
  if (
    !element?.isConnected ||
    changes.some(({ removedNodes }) => [...removedNodes].some((node) => node.contains(element)))
  )
    replace(last);
});

/** Focus what stands in the place of something that is gone. @param {Held} gone */
function replace(gone) {
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  const { mark, within } = dialog ? gone : (below ?? gone);
  const depth = within.findLastIndex((element) => element.isConnected);
  const nearest = within[depth] ?? document.body;
  const view = document.querySelector("main");
  if (depth === within.length - 1 && give(nearest)) return;
  if (give(alike(mark, nearest)) || (view?.contains(nearest) && give(alike(mark, view)))) return;
  if (give(walked(nearest, mark.steps.slice(depth + 1)))) return;
  if (nearest.matches("nav, .actions, .buttons") && give(nearest.querySelector(":enabled, a[href]"))) return;
  const other = dialog ? dialog.querySelector("input, select, textarea, button") : heading();
  const before = standIn;
  standIn = other;
  if (!give(other)) standIn = before; // the view has a new heading already, but does not show it yet
}

/**
 * Return an element and all that it is in, below `place`, from the outermost.
 * @param {Element} element
 * @param {Element} place
 */
function upTo(element, place) {
  const within = [];
  for (
    let ancestor = /** @type {Element | null} */ (element);
    ancestor && ancestor !== place;
    ancestor = ancestor.parentElement
  )
    within.unshift(ancestor);
  return within;
}

/** @param {Element[]} within @returns {Mark} */
function markOf(within) {
  const element = /** @type {Element} */ (within.at(-1));
  const kept = ["data-key", "name", "href", "id"].find((name) => element.getAttribute(name));
  return {
    same: kept ? `[${kept}="${CSS.escape(element.getAttribute(kept) ?? "")}"]` : null,
    tag: element.localName,
    name: nameOf(element),
    steps: within.map((ancestor) => [
      ancestor.localName,
      likeIt(ancestor.parentElement, ancestor.localName).indexOf(ancestor),
    ]),
  };
}

/** Return the children of an element that have a tag. @param {Element | null} parent @param {string} tag */
function likeIt(parent, tag) {
  return [...(parent?.children ?? [])].filter((child) => child.localName === tag);
}

/** @param {Element} element */
function nameOf(element) {
  const labels = /** @type {HTMLInputElement} */ (element).labels;
  return (element.getAttribute("aria-label") ?? labels?.[0]?.textContent ?? element.textContent ?? "").trim();
}

/** Return the element in `place` that is the same for the reader. @param {Mark} mark @param {Element} place */
function alike({ same, tag, name }, place) {
  const match = same && place.querySelector(tag + same);
  if (match || !name) return match;
  const named = [...place.querySelectorAll(tag)].filter((candidate) => nameOf(candidate) === name);
  return named.length === 1 ? named[0] : null;
}

/**
 * Return what is at the end of some steps. Of rows, the last one follows the last one that is gone.
 * @param {Element} from
 * @param {Mark["steps"]} steps
 */
function walked(from, steps) {
  let at = /** @type {Element | undefined} */ (from);
  for (const [tag, before] of steps) {
    const all = likeIt(at ?? null, tag);
    at = all[before] ?? (tag === "tr" || tag === "li" ? all.at(-1) : undefined);
  }
  return at === from ? null : at;
}

/** Focus an element; returns whether it has the focus. @param {Element | null | undefined | ""} element */
function give(element) {
  if (!(element instanceof HTMLElement) || !element.matches(CONTROLS)) return false;
  element.focus({ preventScroll: true });
  return document.activeElement === element;
}
