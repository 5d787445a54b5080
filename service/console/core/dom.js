// @ts-check
/**
 * Makes elements. Text from anywhere becomes text nodes: nothing here, and nothing that uses this, can insert HTML.
 */
import { enumerated } from "./locale.js";

/** @typedef {Node | string | number | null | undefined | false} Piece */
/** @typedef {Piece | Pieces} Child */
/** @typedef {readonly Child[]} Pieces */

const PROPERTIES = new Set(["value", "checked", "selected", "indeterminate", "open"]);
const ADDRESSES = new Set(["href", "src", "action", "formaction"]);
const SAFE = /^(?:https?:|mailto:|blob:|[/#?.])/i;

/**
 * Return an element. Attributes named `on…` are listeners, `dataset` is an object, `true` is an attribute without a
 * value, and null, undefined or false leave it out. Addresses other than http(s), mailto, blob and relative ones are
 * left out: they may come from records.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any> | null} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2).toLowerCase(), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else if (PROPERTIES.has(name)) /** @type {any} */ (element)[name] = value;
    else if (value === false) continue;
    else if (ADDRESSES.has(name) && !SAFE.test(String(value))) continue;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...pieces(tag === "code" ? children.map(parted) : children));
  // The options of a select exist only now.
  if (tag === "select" && attributes?.value !== undefined)
    /** @type {any} */ (element).value = attributes.value;
  return element;
}

/**
 * Return a code or a path with places to break it after each of its parts, anything else as it is.
 * @param {Child} text
 * @returns {Child}
 */
function parted(text) {
  if (typeof text !== "string" || text.length < 12) return text;
  const parts = text.split(/(?<=[/:.@_-])(?=\w|\{)/);
  return parts.flatMap((part, place) => (place === 0 ? [part] : [document.createElement("wbr"), part]));
}

/**
 * Return children as nodes and strings; empty ones are left out.
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
export function pieces(children) {
  return children
    .flat(9)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * Return a link, to a view (`/users/17`) or to any other address.
 * @param {string} href
 * @param {...Child} children
 */
export function link(href, ...children) {
  return h("a", { href: href.startsWith("/") ? `#${href}` : href }, ...children);
}

/**
 * Return a link that looks like a button: it leads to another view. `icon` and `kind` are those of `button`.
 * @param {string} href
 * @param {string} text
 * @param {{kind?: string, icon?: string}} [options]
 */
export function linkButton(href, text, { kind, icon: shown } = {}) {
  const element = link(href, shown && icon(shown), text);
  element.className = `button ${kind ?? ""}`.trim();
  return element;
}

/**
 * Return a button. `kind` is primary, danger, quiet or nothing; `icon` the name of an icon before the text. With
 * `label` the text is only an accessible name, for buttons that show an icon alone.
 * @param {string} text
 * @param {((event: Event) => any) | null} onclick Further clicks are ignored while its promise is pending.
 * @param {{kind?: string, icon?: string, label?: boolean, disabled?: boolean, type?: string}
 *   & Record<string, any>} [options]
 */
export function button(text, onclick, { kind, icon: shown, label, type = "button", ...attributes } = {}) {
  let busy = false;
  const element = h(
    "button",
    {
      type,
      class: `button ${kind ?? ""} ${label ? "square" : ""}`.trim(),
      "aria-label": label ? text : null,
      title: label ? text : null,
      onclick: async (/** @type {Event} */ event) => {
        if (busy) return;
        const made = onclick?.(event);
        if (!(made instanceof Promise)) return;
        busy = true;
        element.setAttribute("aria-busy", "true");
        try {
          await made;
        } finally {
          busy = false;
          element.removeAttribute("aria-busy");
        }
      },
      ...attributes,
    },
    shown && icon(shown),
    label ? null : text,
  );
  return element;
}

/**
 * Return a list of terms and values; pairs whose value is empty are left out.
 * @param {[string, Child][]} pairs
 */
export function definition(pairs) {
  const shown = pairs.filter(
    ([, value]) => ![null, undefined, false, ""].includes(/** @type {any} */ (value)),
  );
  return h(
    "dl",
    { class: "definition" },
    shown.map(([term, value]) => h("div", null, h("dt", null, term), h("dd", null, value))),
  );
}

/** @param {string} text @param {string} [kind] good, warn, bad, info or nothing. */
export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}`.trim(), title: text.length > 20 ? text : null }, text);
}

/**
 * Return badges for the first of some texts, and how many more there are, so that a row of a list is one line high.
 * @param {readonly string[]} texts
 * @param {number} [most]
 */
export function few(texts, most = 1) {
  const rest = texts.slice(texts.length > most ? most : texts.length);
  return h(
    "span",
    { class: "badges few" },
    texts.slice(0, most).map((text) => badge(text)),
    rest.length > 0 &&
      h(
        "span",
        { class: "badge", title: enumerated(rest) },
        h("span", { "aria-hidden": "true" }, `+${rest.length}`),
        h("span", { class: "hidden" }, enumerated(rest)),
      ),
  );
}

/** Return a row of buttons. @param {...Child} children */
export function actions(...children) {
  return h("div", { class: "actions" }, ...children);
}

/** Return badges, and what stands in a row with them. @param {...Child} children */
export function badges(...children) {
  return h("span", { class: "badges" }, ...children);
}

/**
 * Return a list with an entry for each item.
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => Child} make
 * @param {Record<string, any> | null} [attributes]
 */
export function bullets(items, make, attributes = null) {
  return h("ul", attributes, ...items.map((item) => h("li", null, make(item))));
}

/** Return what stands where nothing is to be shown. @param {string} text @param {...Child} actions */
export function empty(text, ...actions) {
  return h("div", { class: "empty" }, h("p", null, text), actions);
}

/** Return a section with a heading. @param {string} title @param {...Child} children */
export function card(title, ...children) {
  return h("section", { class: "card" }, title && h("h2", null, title), children);
}

/** What `keyed` has made: by parent, the items and their elements by key, with their look when they were made. */
const kept = /** @type {WeakMap<Element, Map<any, {text: string, look: Node, element: Element}>>} */ (
  new WeakMap()
);

/**
 * Make the children of an element those of some items. The element of an item whose values and look are the same stays
 * as it is, with the focus and the selection in it; others are made anew, since their listeners know the old values.
 * @template T
 * @param {Element} parent Its children are made by this function alone.
 * @param {readonly T[]} items
 * @param {(item: T) => any} key
 * @param {(item: T) => Element} make
 */
export function keyed(parent, items, key, make) {
  const before = kept.get(parent) ?? new Map();
  const now = new Map();
  const elements = items.map((item) => {
    const [id, text, made] = [key(item), JSON.stringify(item), make(item)];
    const old = now.has(id) ? undefined : before.get(id);
    const element = old?.text === text && old.look.isEqualNode(made) ? old.element : made;
    // What is done to an element later, as a mark of the one tab stop, is no difference.
    now.set(id, { text, look: element === made ? made.cloneNode(true) : made, element });
    return element;
  });
  kept.set(parent, now);
  const staying = new Set(elements);
  for (const child of [...parent.children]) if (!staying.has(child)) child.remove();
  elements.forEach((element, place) => {
    const { children } = parent;
    if (children[place] === element) return;
    // What is moved loses the focus: the others make way for it.
    if (element.contains(document.activeElement))
      while (children[place] !== element) parent.append(children[place]);
    else parent.insertBefore(element, children[place] ?? null);
  });
}

/** The name of the product, in all languages. */
export const PRODUCT = "Portcullis";

/** The product's mark, drawn by the style. */
export function mark() {
  return h("span", { class: "mark", "aria-hidden": "true" });
}

/** Forms of the view that is shown whose values have not been saved; leaving it asks first. @type {Set<object>} */
export const unsaved = new Set();

const PATHS = {
  home: "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-4 4-6 8-6s8 2 8 6",
  bot: "M5 9h14v10H5zM12 5v4M9 13h.01M15 13h.01M9.5 16h5",
  shield: "M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z",
  menu: "M4 6h16M4 12h16M4 18h16",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  server: "M4 4h16v7H4zM4 13h16v7H4zM8 7.5h.01M8 16.5h.01",
  scale: "M12 4v16M7 20h10M5 7h14M5 7l-3 6a3.5 3.5 0 0 0 6 0zM19 7l-3 6a3.5 3.5 0 0 0 6 0z",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  list: "M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01",
  "list-checks": "M10 6h11M10 12h11M10 18h11M3 6l1.5 1.5L7 5M3 12l1.5 1.5L7 11M3 18l1.5 1.5L7 17",
  contact: "M4 4h16v16H4zM12 12a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM8 17c0-2 2-3 4-3s4 1 4 3",
  hand: "M8 13V6a1.5 1.5 0 0 1 3 0v5M11 11V5a2 2 0 0 1 3 0v6M14 11V6a1.5 1.5 0 0 1 3 0v8a6 6 0 0 1-6 6c-3 0-4-2-7-7",
  "log-in": "M14 4h5v16h-5M4 12h11M11 8l4 4-4 4",
  "log-out": "M10 4H5v16h5M9 12h11M16 8l4 4-4 4",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2",
  stethoscope: "M6 3v6a4 4 0 0 0 8 0V3M10 13v3a4 4 0 0 0 8 0v-2M18 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  settings:
    "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1" +
    "M16.3 16.3l2.1 2.1M18.4 5.6l-2.1 2.1M7.7 16.3l-2.1 2.1",
  grid: "M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z",
  globe: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
  key: "M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11 12l9-9M16 7l3 3",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l5 5",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  left: "M15 6l-6 6 6 6",
  right: "M9 6l6 6-6 6",
  edit: "M4 20h4L19 9l-4-4L4 16z",
  bell: "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4",
  mail: "M3 6h18v12H3zM3 7l9 6 9-6",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  download: "M12 4v11M7 11l5 5 5-5M4 20h16",
  upload: "M12 16V5M7 9l5-5 5 5M4 20h16",
  warn: "M12 4l9 16H3zM12 10v4M12 17h.01",
  check: "M5 12l5 5 9-10",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 17h.01",
  device: "M5 4h14v12H5zM3 20h18",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  refresh: "M20 11a8 8 0 1 0-2 6M20 5v6h-6",
};

/**
 * Return an icon, hidden from assistive technology: the text beside it, or the label of its button, says what it means.
 * @param {string} name A name that is not known gives an empty square.
 */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  const known = Object.hasOwn(PATHS, name) ? /** @type {Record<string, string>} */ (PATHS)[name] : null;
  path.setAttribute("d", known ?? "M5 5h14v14H5z");
  svg.append(path);
  return /** @type {SVGSVGElement} */ (svg);
}
