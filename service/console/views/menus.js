// @ts-check
/** The tree of Menus and Buttons, and one of them. */
import { badge, empty, h, icon, linkButton } from "../core/dom.js";
import { compare } from "../core/locale.js";
import { ask, tell } from "../parts/dialog.js";
import { fileButton } from "../parts/list-file.js";
import { whole } from "../parts/local.js";
import { menuRecord } from "../parts/menu-card.js";
import { Forest, moves, pathOf, readMenus, within } from "../parts/menus.js";
import { attempt, undoing } from "../parts/preview.js";
import { menuTitle } from "../parts/seed.js";
import { searching, tree } from "../parts/tree.js";
import { MENUS as T } from "../strings/menus.js";
import { TABLE } from "../strings/table.js";

const ONE = "/api/menu/{id}";

/** @typedef {import("../parts/menus.js").Place} Place */

/** The columns of a file of the tree. @type {import("../parts/list-file.js").Column[]} */
const COLUMNS = [
  { title: T.titleField, cell: (place) => pathOf(place).join(" › ") },
  { title: T.type, cell: ({ menu }) => T.types[menu.menuType] },
  { title: T.code, cell: ({ menu }) => menu.authMark },
  { title: T.enabledState, cell: ({ menu }) => (menu.enabled ? TABLE.yes : TABLE.no) },
  { title: T.sort, cell: ({ menu }) => menu.sort },
];

/** The Menus that the reader has opened in the tree: each choice shows the view anew. @type {Set<number>} */
const opened = new Set();

/** @param {Page} page */
export async function show(page) {
  const forest = new Forest(await readMenus(page));
  const chosen = page.params.id ? forest.places.get(Number(page.params.id)) : null;
  const moving = new Moving(page, forest);
  const among = forest.roots.length ? treeOf(page, forest, chosen ?? null, moving) : null;
  if (chosen && among) {
    await menuRecord(page, forest, chosen, among, () => moving.ask(chosen));
    among.querySelector('[aria-selected="true"] > .tree-row')?.scrollIntoView({ block: "nearest" });
    return;
  }
  page.title(
    T.title,
    page.may("POST /api/menu") && [
      linkButton("/menus/new?type=Menu", T.addMenu, { icon: "plus", kind: "primary" }),
      linkButton("/menus/new?type=Button", T.addButton, { icon: "plus" }),
    ],
    fileButton("menus", COLUMNS, async () => whole(forest.roots.flatMap((root) => [...within(root)]))),
  );
  page.put(
    among
      ? h("div", { class: "record one-of" }, among, empty(page.params.id ? T.gone : T.choose))
      : empty(T.none),
  );
}

/**
 * Return the tree with its search.
 * @param {Page} page
 * @param {Forest} forest
 * @param {Place | null} chosen
 * @param {Moving} moving
 */
function treeOf(page, forest, chosen, moving) {
  const movable = page.may("PATCH /api/menu/{id}");
  if (!opened.size) for (const root of forest.roots) opened.add(root.menu.id);
  for (let above = chosen?.parent; above; above = above.parent) opened.add(above.menu.id);
  const shown = tree({
    name: T.tree,
    roots: forest.roots,
    children: (place) => place.children,
    key: (place) => place.menu.id,
    current: chosen?.menu.id,
    open: opened,
    label: ({ menu }) => [
      icon(menu.menuType === "Menu" ? "menu" : "key"),
      " ",
      menuTitle(menu),
      menu.authMark && [" ", h("code", null, menu.authMark)],
      !menu.enabled && [" ", badge(T.disabledState, "warn")],
    ],
    onopen: (place) => page.go(`/menus/${place.menu.id}`),
    onkey: movable ? (event, place) => moving.key(event, place) : undefined,
    attributes: movable ? (place) => moving.attributes(place) : undefined,
  });
  const search = searching(
    shown,
    T.search,
    ({ menu }, text) =>
      menuTitle(menu).toLowerCase().includes(text) || Boolean(menu.authMark?.includes(text)),
  );
  return h(
    "section",
    { class: "card among", "aria-label": T.tree },
    search,
    h("div", { class: "scrolled" }, shown),
    movable && h("p", { class: "help" }, T.moveHelp),
  );
}

/** Moves menus: by drag, by keys, and by a dialog. */
class Moving {
  /** @param {Page} page @param {Forest} forest */
  constructor(page, forest) {
    this.page = page;
    this.forest = forest;
    /** @type {Place | null} */ this.dragged = null;
  }

  /** Return the children of a place, or the roots. @param {Place | null} parent */
  children(parent) {
    return parent?.children ?? this.forest.roots;
  }

  /** @param {Place} place @returns {Record<string, any>} */
  attributes(place) {
    const zone = (/** @type {DragEvent} */ event) => {
      const box = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
      const part = (event.clientY - box.top) / box.height;
      if (place.menu.menuType === "Menu" && part > 0.25 && part < 0.75) return "into";
      return part < 0.5 ? "before" : "after";
    };
    const fits = () => this.dragged && ![...within(this.dragged)].includes(place);
    const mark = (/** @type {DragEvent} */ event, /** @type {string | null} */ text) => {
      const { dataset } = /** @type {HTMLElement} */ (event.currentTarget);
      if (text) dataset.drop = text;
      else delete dataset.drop;
    };
    return {
      draggable: "true",
      ondragstart: (/** @type {DragEvent} */ event) => {
        this.dragged = place;
        event.dataTransfer?.setData("text/plain", place.menu.title);
        event.stopPropagation();
      },
      ondragend: () => {
        this.dragged = null;
      },
      ondragover: (/** @type {DragEvent} */ event) => {
        if (!fits()) return;
        event.preventDefault();
        mark(event, zone(event));
      },
      ondragleave: (/** @type {DragEvent} */ event) => mark(event, null),
      ondrop: (/** @type {DragEvent} */ event) => {
        event.preventDefault();
        mark(event, null);
        const moved = this.dragged;
        if (!moved || !fits()) return;
        const where = zone(event);
        if (where === "into") this.move(moved, place, place.children.length);
        else this.beside(moved, place, where === "after");
      },
    };
  }

  /**
   * Alt with an arrow moves a menu among its siblings, out of its Menu, or into the one before it.
   * @param {KeyboardEvent} event
   * @param {Place} place
   */
  key(event, place) {
    if (!event.altKey) return false;
    const siblings = this.children(place.parent);
    const at = siblings.indexOf(place);
    const before = siblings[at - 1];
    if (event.key === "ArrowUp" && before) this.beside(place, before, false);
    else if (event.key === "ArrowDown" && siblings[at + 1]) this.beside(place, siblings[at + 1], true);
    else if (event.key === "ArrowLeft" && place.parent) this.beside(place, place.parent, true);
    else if (event.key === "ArrowRight" && before?.menu.menuType === "Menu")
      this.move(place, before, before.children.length);
    else return event.key.startsWith("Arrow");
    return true;
  }

  /** @param {Place} place @param {Place} other @param {boolean} after */
  beside(place, other, after) {
    const siblings = this.children(other.parent).filter((sibling) => sibling !== place);
    return this.move(place, other.parent, siblings.indexOf(other) + (after ? 1 : 0));
  }

  /** Ask where to move a menu. @param {Place} place */
  async ask(place) {
    const targets = this.forest
      .targets(place)
      .map((target) => /** @type {[any, string]} */ ([target.menu.id, pathOf(target).join(" › ")]))
      .sort((a, b) => compare(a[1], b[1]));
    const parents = h(
      "select",
      { id: "move-parent", onchange: () => fill() },
      h("option", { value: "" }, T.top),
      targets.map(([id, text]) => h("option", { value: id }, text)),
    );
    const places = h("select", { id: "move-place" });
    const siblings = () =>
      this.children(this.forest.places.get(Number(parents.value)) ?? null).filter(
        (sibling) => sibling !== place,
      );
    const fill = () =>
      places.replaceChildren(
        h("option", { value: "0" }, T.first),
        ...siblings().map((sibling, index) =>
          h("option", { value: index + 1 }, T.behind({ name: menuTitle(sibling.menu) })),
        ),
      );
    parents.value = String(place.menu.parentId ?? "");
    fill();
    places.value = String(this.children(place.parent).indexOf(place));
    const done = await ask({
      title: T.moveTitle({ name: T.named(place.menu) }),
      confirm: T.move,
      text: h(
        "div",
        { class: "body" },
        h("div", { class: "field" }, h("label", { for: "move-parent" }, T.below), parents),
        h("div", { class: "field" }, h("label", { for: "move-place" }, T.where), places),
      ),
    });
    if (done)
      await this.move(place, this.forest.places.get(Number(parents.value)) ?? null, Number(places.value));
  }

  /** @param {Place} place @param {Place | null} parent @param {number} index Where among the others below `parent`. */
  move(place, parent, index) {
    return attempt(T.moveTitle({ name: T.named(place.menu) }), async () => {
      const { parentId, sort } = place.menu;
      const edits = moves(
        place,
        parent,
        this.children(parent).filter((sibling) => sibling !== place),
        index,
      );
      const before = edits.map(
        ({ place: { menu } }) =>
          /** @type {[string, string, any]} */ ([
            "PATCH",
            ONE,
            { path: { id: menu.id }, body: { parentId: menu.parentId, sort: menu.sort } },
          ]),
      );
      if (edits.length === 1 && (parent?.menu.id ?? null) === parentId && edits[0].body.sort === sort) return;
      // The siblings first: should one be refused, the menu is still where it was.
      for (const edit of edits.reverse()) {
        const { id, version } = edit.place.menu;
        await this.page.call("PATCH", ONE, { path: { id }, body: edit.body, ifMatch: `"${version}"` });
      }
      tell(T.moved({ name: T.named(place.menu) }), { undo: undoing(this.page, ...before) });
      await this.page.reload();
    });
  }
}
