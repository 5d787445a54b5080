// @ts-check
/** What a role gives: a tree of Menus and Buttons to choose from, and a preview before it is saved. */
import { Problem } from "../client/portcullis.js";
import { actions, badge, bullets, button, empty, h, unsaved } from "../core/dom.js";
import { FORM } from "../strings/form.js";
import { PERMISSIONS as T } from "../strings/roles.js";
import { tell } from "./dialog.js";
import { requested } from "./trouble.js";
import { isWildcard } from "./codes.js";
import { Choice, Forest, covered, readMenus } from "./menus.js";
import { attempt, previewed, undoing } from "./preview.js";
import { menuTitle, roleName } from "./seed.js";
import { searching, tree } from "./tree.js";

const GIVEN = "/api/role/{id}/permissions";

/** @typedef {import("./menus.js").Place} Place */
/** @typedef {{roleCode: string, roleName: string}} Role */

/**
 * Read what a role gives; returns what shows it, for the role.
 * @param {Page} page
 * @param {{id: string}} path
 * @returns {Promise<(role: Role) => import("../core/dom.js").Child>}
 */
export async function permissions(page, path) {
  const [{ data: given, etag }, menus] = await Promise.all([
    page.call("GET", GIVEN, { path }),
    page.may("GET /api/menu/list") ? readMenus(page) : null,
  ]);
  // Without the tree there are still the codes.
  if (!menus)
    return () =>
      given.permissions.length
        ? bullets(given.permissions, (/** @type {string} */ code) => h("code", null, code))
        : empty(T.nothing);
  return (role) => new Editor(page, path, role, new Forest(menus), given.menuIds, etag).element;
}

/**
 * Return what is below a place in the tree: first the page of the Menu itself, which can be chosen alone.
 * @param {Place & {page?: Place}} node
 * @returns {(Place | {page: Place})[]}
 */
function below(node) {
  return node.page || !node.children.length ? [] : [{ page: node }, ...node.children];
}

/** The tree with its search, and what follows from a choice. */
class Editor {
  /**
   * @param {Page} page
   * @param {{id: string}} path
   * @param {Role} role
   * @param {Forest} forest
   * @param {number[]} given
   * @param {string | null} etag
   */
  constructor(page, path, role, forest, given, etag) {
    this.page = page;
    this.path = path;
    this.role = role;
    this.forest = forest;
    this.etag = etag;
    this.stored = new Choice(forest, given);
    this.choice = new Choice(forest, given);
    for (const id of page.query.get("add")?.split(",") ?? []) {
      const place = forest.places.get(Number(id));
      if (place && this.choice.state(place) !== true) this.choice.toggle(place);
    }
    this.editable = page.may("PUT /api/role/{id}/permissions");
    this.summary = h("div", { class: "summary", role: "status" });
    this.notes = h("div");
    this.tree = tree({
      name: T.tree,
      roots: forest.roots,
      children: (node) => below(node),
      key: (node) => (node.page ? `page-${node.page.menu.id}` : node.menu.id),
      checked: (node) => (node.page ? this.choice.ids.has(node.page.menu.id) : this.choice.state(node)),
      check: this.editable
        ? (node) =>
            this.changed(() => (node.page ? this.choice.toggleAlone(node.page) : this.choice.toggle(node)))
        : undefined,
      label: (node) => (node.page ? h("em", null, T.page) : this.label(node)),
    });
    const search = searching(this.tree, T.search, ({ menu }, text) =>
      Boolean(menu && (menuTitle(menu).toLowerCase().includes(text) || menu.authMark?.includes(text))),
    );
    this.element = h(
      "div",
      { class: "permissions" },
      h("p", null, T.help),
      search,
      this.tree,
      this.summary,
      this.notes,
    );
    this.summarize();
  }

  /** @param {Place} place */
  label(place) {
    const { menu } = place;
    const off = !menu.enabled && [" ", badge(T.disabled, "warn")];
    if (menu.menuType === "Menu") return [menuTitle(menu), off];
    const wildcard = isWildcard(menu.authMark);
    const by = this.choice.ids.has(menu.id) ? null : this.choice.coveredBy(place);
    return [
      menuTitle(menu),
      " ",
      h("code", null, menu.authMark),
      off,
      wildcard && [" ", badge(T.covers({ n: covered(this.forest, place).length }), "info")],
      by && [" ", badge(T.coveredBy({ code: by }), "info")],
    ];
  }

  /** @param {() => void} change */
  changed(change) {
    change();
    this.tree.redraw();
    this.summarize();
  }

  /** What is added to and taken from what is stored. */
  get difference() {
    const added = [...this.choice.ids].filter((id) => !this.stored.ids.has(id));
    const removed = [...this.stored.ids].filter((id) => !this.choice.ids.has(id));
    return { added, removed };
  }

  summarize() {
    const { added, removed } = this.difference;
    const dirty = added.length + removed.length > 0;
    unsaved[dirty ? "add" : "delete"](this);
    const { codes } = this.choice;
    const wild = codes.filter(isWildcard);
    this.summary.replaceChildren(
      ...[
        h(
          "p",
          null,
          codes.length ? T.summary({ n: codes.length }) : T.nothing,
          wild.length > 0 && [" ", T.wild, " ", wild.map((code) => [h("code", null, code), " "])],
        ),
        dirty && this.names(T.adds, added, "good"),
        dirty && this.names(T.takes, removed, "bad"),
        dirty &&
          actions(
            button(T.preview, () => this.save(), { kind: "primary" }),
            button(T.back, () =>
              this.changed(() => {
                this.choice = new Choice(this.forest, this.stored.ids);
              }),
            ),
          ),
      ].filter((child) => child instanceof Node),
    );
  }

  /** @param {string} title @param {number[]} ids @param {string} kind */
  names(title, ids, kind) {
    if (!ids.length) return null;
    const chosen = ids.map((id) => this.forest.places.get(id)?.menu);
    const codes = chosen.flatMap((menu) => menu?.authMark ?? []);
    // The Menus above Buttons come along.
    const names = (codes.length > 0 ? codes : chosen.map((menu) => menu?.title ?? "")).toSorted();
    return h(
      "p",
      { class: "difference" },
      title,
      " ",
      names.map((name) => [badge(name, kind), " "]),
    );
  }

  save() {
    const name = roleName(this.role);
    const title = T.saveTitle({ name });
    const menuIds = [...this.choice.ids].sort((a, b) => a - b);
    return attempt(title, async () => {
      const { added, removed } = this.difference;
      try {
        const done = await previewed({
          title,
          confirm: T.save,
          text: h("div", null, this.names(T.adds, added, "good"), this.names(T.takes, removed, "bad")),
          write: (dryRun) =>
            this.page.call("PUT", GIVEN, { path: this.path, body: { menuIds }, ifMatch: this.etag, dryRun }),
        });
        if (!done) return;
        unsaved.delete(this);
        tell(T.saved({ name }), {
          undo: undoing(this.page, [
            "PUT",
            GIVEN,
            { path: this.path, body: { menuIds: [...this.stored.ids] }, ifMatch: done.etag },
          ]),
        });
        await this.page.reload();
      } catch (problem) {
        if (!(problem instanceof Problem) || problem.status !== 412) throw problem;
        await this.merge(problem);
      }
    });
  }

  /**
   * Somebody else has saved meanwhile: what they changed is taken over, and what the reader changed stays.
   * @param {Problem} problem
   */
  async merge(problem) {
    const { added, removed } = this.difference;
    const [{ data, etag }, { data: role }] = await Promise.all([
      this.page.call("GET", GIVEN, { path: this.path }),
      this.page.call("GET", "/api/role/{id}", { path: this.path }),
    ]);
    const forest = new Forest(await readMenus(this.page)); // what they gave may be new too
    const theirs = new Choice(forest, data.menuIds);
    const before = this.stored;
    const gained = [...theirs.ids].filter((id) => !before.ids.has(id));
    const lost = [...before.ids].filter((id) => !theirs.ids.has(id));
    const took = this.names(T.theyTook, lost, "bad");
    this.forest = forest;
    this.stored = theirs;
    this.etag = etag;
    this.choice = new Choice(
      this.forest,
      [...theirs.ids, ...added].filter((id) => !removed.includes(id)),
    );
    this.notes.replaceChildren(
      h(
        "section",
        { class: "merge", tabindex: "-1", role: "alert" },
        h("h2", null, role.updatedBy ? FORM.meanwhileBy({ name: role.updatedBy }) : FORM.meanwhile),
        h("p", null, T.meanwhile),
        this.names(T.theyAdded, gained, "good"),
        took,
        requested(problem),
      ),
    );
    this.tree.redraw({ roots: forest.roots });
    this.summarize();
    /** @type {HTMLElement} */ (this.notes.firstElementChild).focus();
  }
}
