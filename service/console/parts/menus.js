// @ts-check
/** The tree of Menus and Buttons, and a choice among them: what a role gives. */
import { compare } from "../core/locale.js";
import { MENUS } from "../strings/menus.js";
import { covers, isWildcard } from "./codes.js";
import { menuTitle } from "./seed.js";

const SIZE = 200;

/** @typedef {import("../types/api").Menu} Menu */
/** @typedef {{menu: Menu, parent: Place | null, children: Place[]}} Place */

/** Read all Menus and Buttons. @param {Page} page @returns {Promise<Menu[]>} */
export async function readMenus(page) {
  const read = async (/** @type {number} */ number) =>
    (await page.call("GET", "/api/menu/list", { query: { page: number, size: SIZE } })).data;
  const first = await read(1);
  const others = Array.from({ length: Math.ceil(first.total / SIZE) - 1 }, (_, index) => read(index + 2));
  return [first, ...(await Promise.all(others))].flatMap(({ items }) => items);
}

/** Read all Buttons as options of a choice, by their paths in the tree. @param {Page} page */
export async function readButtons(page) {
  return new Forest(await readMenus(page)).buttons.map(optionOf).sort((a, b) => compare(a.text, b.text));
}

/** Return a Button as `picker` shows it. @param {Place} place */
export function optionOf(place) {
  return {
    key: place.menu.id,
    text: `${pathOf(place).join(" › ")} ${place.menu.authMark}`,
    code: place.menu.authMark ?? "",
    note: place.menu.enabled ? null : MENUS.disabledState,
  };
}

/** The tree, each list of children in the order of `sort`. */
export class Forest {
  /** @param {Menu[]} menus */
  constructor(menus) {
    /** @type {Map<number, Place>} */
    this.places = new Map(menus.map((menu) => [menu.id, { menu, parent: null, children: [] }]));
    /** @type {Place[]} */
    this.roots = [];
    for (const place of this.places.values()) {
      place.parent = (place.menu.parentId !== null && this.places.get(place.menu.parentId)) || null;
      (place.parent?.children ?? this.roots).push(place);
    }
    for (const list of [this.roots, ...[...this.places.values()].map((place) => place.children)]) {
      list.sort((a, b) => a.menu.sort - b.menu.sort || a.menu.id - b.menu.id);
    }
  }

  /** The Buttons. */
  get buttons() {
    return [...this.places.values()].filter(({ menu }) => menu.menuType === "Button");
  }

  /**
   * Return the Menus that a menu may be moved to: not itself, nor one below it.
   * @param {Place | null} place
   */
  targets(place) {
    const below = new Set(place ? [...within(place)] : []);
    return [...this.places.values()].filter(
      (candidate) => candidate.menu.menuType === "Menu" && !below.has(candidate),
    );
  }
}

/** Yield a place and all below it. @param {Place} place @returns {Generator<Place>} */
export function* within(place) {
  yield place;
  for (const child of place.children) yield* within(child);
}

/** Return the titles from the top down to a place. @param {Place} place @returns {string[]} */
export function pathOf(place) {
  return [...(place.parent ? pathOf(place.parent) : []), menuTitle(place.menu)];
}

/** Menus and Buttons that are chosen; to choose a Button chooses the Menus above it. */
export class Choice {
  /** @param {Forest} forest @param {Iterable<number>} ids */
  constructor(forest, ids) {
    this.forest = forest;
    this.ids = new Set([...ids].filter((id) => forest.places.has(id)));
    /** The codes of the chosen Buttons, in order. @type {string[]} */
    this.codes = [];
    /** @type {string[]} */
    this.wildcards = [];
    this.refresh();
  }

  refresh() {
    this.codes = this.forest.buttons
      .filter(({ menu }) => this.ids.has(menu.id))
      .map(({ menu }) => menu.authMark ?? "")
      .sort();
    this.wildcards = this.codes.filter(isWildcard);
  }

  /**
   * Return whether a place is chosen. A Menu is with all Buttons below it, but for wildcards: a wildcard gives far more
   * than its place in the tree shows, so it is only ever chosen by itself.
   * @param {Place} place
   * @returns {boolean | "mixed"}
   */
  state(place) {
    let [some, all] = [false, true];
    for (const { menu } of within(place)) {
      if (this.ids.has(menu.id)) some = true;
      else all &&= isWildcard(menu.authMark);
    }
    return some && (all || "mixed");
  }

  /** Choose a place with all below it, or none of them. @param {Place} place */
  toggle(place) {
    const chosen = this.state(place) !== true;
    for (const node of within(place)) {
      if (!chosen) this.ids.delete(node.menu.id);
      else if (node === place || !isWildcard(node.menu.authMark)) this.ids.add(node.menu.id);
    }
    for (let above = chosen ? place.parent : null; above; above = above.parent) this.ids.add(above.menu.id);
    this.refresh();
  }

  /** Choose a Menu or not, and leave all below it as it is. @param {Place} place */
  toggleAlone(place) {
    if (!this.ids.delete(place.menu.id)) this.ids.add(place.menu.id);
    this.refresh();
  }

  /** Return the chosen wildcard that covers the code of a Button, if one does. @param {Place} place */
  coveredBy({ menu }) {
    return this.wildcards.find((code) => code !== menu.authMark && covers(code, menu.authMark ?? "")) ?? null;
  }
}

/** Return the Buttons of a forest that the code of a place covers. @param {Forest} forest @param {Place} place */
export function covered(forest, { menu }) {
  return forest.buttons.filter(
    (button) => button.menu.id !== menu.id && covers(menu.authMark ?? "", button.menu.authMark ?? ""),
  );
}

/**
 * Return the edits that put a menu at a place among new siblings: one of the menu itself and, where their numbers leave
 * no room, further ones that number the siblings behind it anew.
 * @param {Place} place
 * @param {Place | null} parent
 * @param {Place[]} siblings The children of the new parent, in order, without the menu itself.
 * @param {number} index Where among them.
 * @returns {{place: Place, body: {parentId?: number | null, sort?: number}}[]}
 */
export function moves(place, parent, siblings, index) {
  const previous = siblings[index - 1]?.menu.sort ?? Math.min(0, (siblings[0]?.menu.sort ?? 0) - 1);
  let sort = index === 0 ? previous : previous + 1;
  const parentId = parent?.menu.id ?? null;
  const edits = [{ place, body: parentId === place.menu.parentId ? { sort } : { parentId, sort } }];
  for (const behind of siblings.slice(index)) {
    if (behind.menu.sort > sort) break;
    sort += 1;
    edits.push({ place: behind, body: /** @type {any} */ ({ sort }) });
  }
  return edits;
}
