// @ts-check
/** Trees, by the pattern of WAI-ARIA: arrows move, Home and End jump, letters search, Space selects, Enter follows. */
import { h, icon, pieces } from "../core/dom.js";
import { TREE } from "../strings/form.js";

/** The most rows that a search shows. */
const MOST = 300;
/** The most rows below roots for which these are open at the beginning: to draw more takes long enough to be felt. */
const ROOM = 120;

/**
 * @typedef {object} Tree
 * @property {string} name What the tree shows, for screen readers.
 * @property {any[]} roots
 * @property {(node: any) => any[]} children
 * @property {(node: any) => import("../core/dom.js").Child} label
 * @property {(node: any) => any} [key] By default the `id` of a node.
 * @property {Set<any>} [selected] Keys; nodes then have a box. The tree changes this set.
 * @property {(node: any) => boolean | "mixed"} [checked] Whether the box of a node is on, in place of
 *   `selected`: for boxes that say something of the nodes below.
 * @property {(node: any) => void} [check] Turns such a box on or off; without it, boxes only show.
 * @property {(node: any) => boolean} [selectable] Which nodes have a box; by default all.
 * @property {(node: any, on: boolean) => void} [onselect] After a node was selected or not any more.
 * @property {(node: any) => void} [onopen] Enter or a click on a node without a box.
 * @property {Set<any>} [open] Keys of the nodes that are open; by default all roots, unless that shows many rows.
 * @property {(node: any) => boolean} [shows] Which nodes are shown, with those above them; for a search.
 * @property {any} [current] The key of the node that is shown elsewhere on the page.
 * @property {(event: KeyboardEvent, node: any) => boolean | void} [onkey] Further keys; true if one was meant.
 * @property {(node: any) => Record<string, any>} [attributes] Further attributes of the rows, such as `draggable`.
 */

/**
 * Return a tree; `redraw(changes)` shows it anew, with changes to its configuration, and keeps the focus. It returns
 * whether a search has found more than is shown.
 * @param {Tree} config
 * @returns {HTMLElement & {redraw: (changes?: Partial<Tree>) => boolean, focusOn: (key: any) => void}}
 */
export function tree(config) {
  const boxes = Boolean(config.selected || config.checked);
  const rows = config.roots.reduce((sum, root) => sum + config.children(root).length, 0);
  const open = config.open ?? new Set(rows > ROOM ? [] : config.roots.map(keyOf));
  /** @type {Map<HTMLElement, any>} */ let nodes = new Map();
  /** @type {any} */ let active = config.current;
  let [drawn, cut] = [0, false];

  /** @param {any} node */
  function keyOf(node) {
    return config.key ? config.key(node) : node.id;
  }

  /** @param {any} node @returns {boolean} */
  function shown(node) {
    return !config.shows || config.shows(node) || config.children(node).some(shown);
  }

  /** @param {any} node @param {number} level @returns {HTMLElement | null} */
  function item(node, level) {
    if (!shown(node)) return null;
    if (config.shows && drawn === MOST) {
      cut = true;
      return null;
    }
    drawn += 1;
    const key = keyOf(node);
    const below = config.children(node).filter(shown);
    const opened = below.length > 0 && (open.has(key) || Boolean(config.shows));
    const box = (config.selected || config.checked) && (config.selectable?.(node) ?? true);
    const on = box && (config.checked ? config.checked(node) : config.selected?.has(key));
    const row = h(
      "div",
      { class: "tree-row", ...config.attributes?.(node) },
      h(
        "span",
        {
          class: "twist",
          onclick: (/** @type {Event} */ event) => {
            event.stopPropagation();
            toggle(node);
          },
        },
        below.length > 0 && icon(opened ? "down" : "right"),
      ),
      box &&
        h(
          "span",
          { class: `tick ${on ? "on" : ""}`, "aria-hidden": "true" },
          on && icon(on === "mixed" ? "minus" : "check"),
        ),
      h("span", { class: "tree-label" }, pieces([config.label(node)])),
    );
    const element = h(
      "li",
      {
        role: "treeitem",
        tabindex: "-1",
        "data-key": `tree-${key}`,
        "aria-level": level,
        "aria-expanded": below.length > 0 ? String(opened) : null,
        "aria-checked": box ? String(on || false) : null,
        "aria-disabled": box && config.checked && !config.check ? "true" : null,
        "aria-selected": boxes ? null : String(config.current === key),
        onclick: (/** @type {Event} */ event) => {
          event.stopPropagation();
          active = key;
          if (box) choose(node);
          else if (config.onopen) config.onopen(node);
          else toggle(node);
          focusOn(key);
        },
      },
      row,
      opened &&
        h(
          "ul",
          { role: "group" },
          below.map((child) => item(child, level + 1)),
        ),
    );
    nodes.set(element, node);
    return element;
  }

  /** @param {any} node @param {boolean} [opens] */
  function toggle(node, opens) {
    const key = keyOf(node);
    if (opens ?? !open.has(key)) open.add(key);
    else open.delete(key);
    redraw();
  }

  /** @param {any} node */
  function choose(node) {
    if (config.checked) return config.check?.(node);
    const key = keyOf(node);
    const on = !config.selected?.has(key);
    config.selected?.[on ? "add" : "delete"](key);
    redraw();
    config.onselect?.(node, on);
  }

  /** @param {Partial<Tree>} [changes] */
  function redraw(changes = {}) {
    Object.assign(config, changes);
    const focused = element.contains(document.activeElement);
    nodes = new Map();
    [drawn, cut] = [0, false];
    element.replaceChildren(...pieces(config.roots.map((root) => item(root, 1))));
    const at = find(active) ?? /** @type {HTMLElement | null} */ (element.querySelector("[role=treeitem]"));
    at?.setAttribute("tabindex", "0");
    if (focused) at?.focus();
    return cut;
  }

  /** @param {any} key */
  function find(key) {
    for (const [element, node] of nodes) if (keyOf(node) === key) return element;
    return undefined;
  }

  /** @param {any} key */
  function focusOn(key) {
    find(key)?.focus();
  }

  /** Keep the one node that Tab leads to where the focus is. @param {FocusEvent} event */
  function entered(event) {
    const at = /** @type {HTMLElement} */ (event.target);
    if (!nodes.has(at)) return;
    element.querySelector("[role=treeitem][tabindex='0']")?.setAttribute("tabindex", "-1");
    at.setAttribute("tabindex", "0");
    active = keyOf(nodes.get(at));
  }

  /** @param {KeyboardEvent} event */
  function typed(event) {
    const at = /** @type {HTMLElement} */ (event.target);
    const node = nodes.get(at);
    if (node === undefined || event.ctrlKey || event.metaKey) return;
    if (config.onkey?.(event, node)) return event.preventDefault();
    if (event.altKey) return;
    const visible = /** @type {HTMLElement[]} */ ([...element.querySelectorAll("[role=treeitem]")]);
    const index = visible.indexOf(at);
    const expanded = at.getAttribute("aria-expanded");
    const go = (/** @type {HTMLElement | null | undefined} */ to) => to && focusOn(keyOf(nodes.get(to)));
    if (event.key === "ArrowDown") go(visible[index + 1]);
    else if (event.key === "ArrowUp") go(visible[index - 1]);
    else if (event.key === "Home") go(visible[0]);
    else if (event.key === "End") go(visible.at(-1));
    else if (event.key === "ArrowRight")
      expanded === "false" ? toggle(node, true) : expanded && go(visible[index + 1]);
    else if (event.key === "ArrowLeft")
      expanded === "true" ? toggle(node, false) : go(at.parentElement?.closest("[role=treeitem]"));
    else if (event.key === " " && at.hasAttribute("aria-checked")) choose(node);
    else if (event.key === "Enter" || event.key === " ")
      at.hasAttribute("aria-checked") && event.key === "Enter"
        ? choose(node)
        : config.onopen
          ? config.onopen(node)
          : toggle(node);
    else if (event.key.length === 1 && event.key !== "?" && event.key !== "/") {
      const letter = event.key.toLowerCase();
      const from = [...visible.slice(index + 1), ...visible.slice(0, index + 1)];
      const labels = from.map((row) => row.querySelector(".tree-label")?.textContent?.toLowerCase());
      go(from[labels.findIndex((label) => label?.startsWith(letter))]);
      return event.stopPropagation();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  const element = Object.assign(
    h("ul", {
      class: "tree",
      role: "tree",
      "aria-label": config.name,
      "aria-multiselectable": boxes ? "true" : null,
      onkeydown: typed,
      onfocusin: entered,
    }),
    { redraw, focusOn },
  );
  redraw();
  return element;
}

/**
 * Return a field that searches a tree: what fits is shown, with what is above it.
 * @param {ReturnType<typeof tree>} shown
 * @param {string} label
 * @param {(node: any, text: string) => boolean} fits Gets the typed text in lower case.
 */
export function searching(shown, label, fits) {
  const note = h("p", { class: "help", role: "status" });
  const field = h("input", {
    type: "search",
    "aria-label": label,
    placeholder: label,
    oninput: (/** @type {Event} */ event) => {
      event.stopPropagation(); // to look for something changes nothing
      const text = field.value.trim().toLowerCase();
      const more = shown.redraw({ shows: text ? (node) => fits(node, text) : undefined });
      note.textContent = more ? TREE.cut({ n: MOST }) : "";
    },
  });
  return h("div", { class: "bar" }, field, note);
}
