// @ts-check
/** Long lists: filters, order and paging in the address; the server sends one page at a time. */
import { button, empty, h, icon, keyed, link, pieces } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { ACTION } from "../strings/common.js";
import { FRAME } from "../strings/frame.js";
import { TABLE } from "../strings/table.js";
import { fileButton, pagesOf } from "./list-file.js";
import { filtered, filtering } from "./filters.js";
import { listMenu } from "./list-menu.js";
import { leading } from "./row-links.js";
import { scrolling } from "./scroll.js";
import { trouble } from "./trouble.js";

/** The most records that the reader may choose: more would hold up the browser. */
const MOST_CHOSEN = 10_000;

/**
 * The page before one that has a cursor, by that cursor.
 * @type {Map<string, {page: string | null, cursor: string | null}>}
 */
const before = new Map();

/** @typedef {import("./list-file.js").Column} Column */
/** @typedef {import("./list-file.js").Part} Part */
/** @typedef {import("./filters.js").Filter} Filter */

/**
 * What chooses all that match the filters.
 * @typedef {{total: number, most: number, choose: () => Promise<void>}} Rest
 */

/**
 * @typedef {object} Listing
 * @property {string} caption
 * @property {Column[]} columns
 * @property {Filter[]} [filters]
 * @property {(query: Record<string, any>) => Promise<Part>} load Gets the filters, `sort`, `page` or `cursor`, and
 *   `size`.
 * @property {(row: any) => string | null} [row] The address of a row; its first cell becomes a link.
 * @property {import("../core/dom.js").Child[]} [actions]
 * @property {import("../core/dom.js").Child} [empty] What stands where there is nothing at all.
 * @property {(row: any) => import("../core/dom.js").Child} [buttons] Actions of one row, in a last column.
 * @property {(row: any) => any} [select] The key of a row, null for one that can't be chosen; then rows have a
 *   box, and `chosen` gets the keys.
 * @property {(keys: Set<any>, rest?: Rest | null) => void} [chosen] Gets what
 *   chooses all records of the filters too, where all of a page are chosen.
 * @property {string | false} [file] The name of the file that all records of the filters can be saved to, by default
 *   that of the view; false where the server makes such files.
 * @property {number} [size]
 * @property {number} [most] The most rows of a page that the reader may choose: more would hold up the browser.
 * @property {import("./folding.js").Groups} [groups] Puts the rows in groups.
 * @property {boolean} [grid] Whether the reader moves among its cells by arrow keys.
 * @property {string} [sort] The order when the address names none.
 */

/**
 * Return a list of a view that loads itself, with `reload()` and, while rows are shown, `rows()`. Its filters are those
 * of the view's address.
 * @param {Page} page
 * @param {Listing} config
 * @returns {HTMLElement & {reload: () => Promise<void>, rows: () => any[]}}
 */
export function listing(page, config) {
  const {
    caption,
    columns,
    filters = [],
    load,
    row,
    actions = [],
    buttons,
    select,
    chosen,
    groups,
    size = 20,
    most = 100,
  } = config;
  const keys = new Set();
  /** @type {any[]} */ let rows = [];
  let total = 0;
  let turn = 0;
  const shown = () => columns.filter((column, place) => place === 0 || !menu?.hides(column));
  const all = h("input", {
    type: "checkbox",
    "aria-label": TABLE.selectPage,
    onchange: () => {
      for (const key of offered()) keys[all.checked ? "add" : "delete"](key);
      for (const box of body.querySelectorAll("input[type=checkbox]"))
        /** @type {HTMLInputElement} */ (box).checked = all.checked;
      choose();
    },
  });
  const body = leading(h("tbody"));
  const head = h("tr");
  const table = h(
    "table",
    { class: "table", role: config.grid ? "grid" : null },
    h("caption", { class: "hidden" }, caption),
    h("thead", null, head),
    body,
  );
  const place = scrolling(caption, table);
  place.classList.toggle("list", !config.grid); // a grid scrolls in its box, in both directions
  const pager = h("nav", { class: "pager", "aria-label": TABLE.pages });
  const status = h("p", { class: "hidden", role: "status" });

  /** @param {Record<string, any>} changes @param {{push?: boolean}} [options] */
  function set(changes, { push = false } = {}) {
    page.setQuery({ page: null, cursor: null, ...changes }, { show: false, push });
    narrowing?.settle(); // now, while what moves is what the reader has just done
    return refresh();
  }

  const narrowing = filters.length > 0 ? filtering(page, caption, filters, set) : null;
  const plain = config.grid || groups || (columns.length < 5 && filters.length === 0);
  const menu = plain ? null : listMenu(page, { caption, columns, filters }, () => refresh());
  const name = config.file ?? page.path.slice(1).replaceAll("/", "-");
  const titled = columns.filter(({ title }) => title);
  const file = name && !config.grid && fileButton(name, titled, read);
  const acts = pieces([actions, file, menu?.element]);
  const bar =
    narrowing || acts.length
      ? h("div", { class: "bar" }, narrowing?.element, h("div", { class: "actions" }, acts))
      : null;

  /** Show another page; the way back leads to this one. @param {Record<string, any>} place */
  function turnTo(place) {
    return set(place, { push: true });
  }

  /** Return the keys of the rows of this page that can be chosen. */
  function offered() {
    return rows.map((item) => select?.(item) ?? null).filter((key) => key !== null);
  }

  /** Say what is chosen; where it is all of a page, offer all that fit the filters. */
  function choose() {
    if (!select) return;
    const here = offered();
    const chosenHere = here.filter((key) => keys.has(key)).length;
    all.checked = here.length > 0 && chosenHere === here.length;
    all.indeterminate = chosenHere > 0 && !all.checked;
    const rest = all.checked && total > rows.length && keys.size < total;
    chosen?.(keys, rest && keys.size < MOST_CHOSEN ? { total, most: MOST_CHOSEN, choose: everything } : null);
  }

  /** Choose all records that fit the filters, up to the most that may be chosen. */
  async function everything() {
    for await (const items of pagesOf(read, most)) {
      for (const key of items.map((item) => select?.(item) ?? null)) {
        if (key !== null && keys.size < MOST_CHOSEN) keys.add(key);
      }
      if (keys.size >= MOST_CHOSEN) break;
    }
    await refresh();
  }

  function heads() {
    const sorted = page.query.get("sort") ?? config.sort ?? "";
    head.replaceChildren(
      ...pieces([
        select &&
          h(
            "th",
            { class: "box", scope: "col" },
            h("span", { class: "hidden" }, TABLE.select({ name: "" })),
            all,
          ),
        shown().map(({ title, sort, kind, help }) => {
          const on = sort && sorted.replace(/^-/, "") === sort;
          const down = on && sorted.startsWith("-");
          return h(
            "th",
            { scope: "col", class: kind, "aria-sort": on ? (down ? "descending" : "ascending") : null },
            sort
              ? button(title, () => set({ sort: on && !down ? `-${sort}` : sort }), {
                  kind: "sort",
                  "data-key": `sort-${sort}`,
                  "aria-label": TABLE.sortBy({ title }),
                })
              : title,
            help && h("small", { class: "under" }, help),
            on && icon(down ? "down" : "up"),
          );
        }),
        buttons && h("th", { scope: "col" }, h("span", { class: "hidden" }, TABLE.actions)),
      ]),
    );
  }

  /** @param {any} item */
  function line(item) {
    const href = row?.(item);
    const key = select?.(item) ?? null;
    const box =
      key !== null &&
      h("input", {
        type: "checkbox",
        checked: keys.has(key),
        onchange: (/** @type {Event} */ event) => {
          const on = /** @type {HTMLInputElement} */ (event.target).checked;
          keys[on ? "add" : "delete"](key);
          choose();
        },
      });
    const cells = shown().map(({ title, cell, kind }, index) => {
      const content = pieces([cell(item)]);
      if (index === 0 && box)
        box.setAttribute(
          "aria-label",
          TABLE.select({
            name: content.map((piece) => (typeof piece === "string" ? piece : piece.textContent)).join(" "),
          }),
        );
      const words = content.every((piece) => typeof piece === "string") ? content.join("") : null;
      const text = words
        ? h("span", { class: "cut", title: words.length > 20 ? words : null }, words)
        : content;
      const shown = index === 0 && href ? link(href, text) : text;
      // On a narrow screen a cell is a grid: what it holds is one item of it.
      return h(
        index === 0 ? "th" : "td",
        { "data-label": title, class: kind, scope: index === 0 ? "row" : null },
        Array.isArray(shown) && shown.length > 1 ? h("div", null, shown) : shown,
      );
    });
    return h(
      "tr",
      null,
      select && h("td", { class: "box" }, box),
      cells,
      buttons && h("td", { class: "row-actions" }, buttons(item)),
    );
  }

  /** @param {any} loaded */
  function pages(loaded) {
    const at = loaded.page ?? 1;
    const long = loaded.size ?? size;
    const total = loaded.total ?? undefined; // null: a page by cursor counts nothing
    const cursor = page.query.get("cursor");
    const more = cursor || total === undefined ? Boolean(loaded.nextCursor) : at * long < total;
    const text =
      total === undefined || cursor
        ? TABLE.rows({ n: loaded.items.length })
        : TABLE.range({
            from: Math.min(total, (at - 1) * long + 1),
            to: Math.min(total, at * long),
            total: loaded.totalIsExact === false ? TABLE.atLeast({ total }) : shownNumber(total),
          });
    status.textContent = text;
    const next = () => {
      if (!((cursor || total === undefined || at * long >= 10_000) && loaded.nextCursor))
        return turnTo({ page: at + 1 });
      before.set(loaded.nextCursor, { page: page.query.get("page"), cursor });
      return turnTo({ cursor: loaded.nextCursor });
    };
    const back = () => turnTo(cursor ? (before.get(cursor) ?? {}) : { page: at > 2 ? at - 1 : null });
    pager.replaceChildren(
      h("span", { class: "range" }, text),
      h(
        "label",
        null,
        TABLE.size,
        " ",
        h(
          "select",
          {
            name: "size",
            value: String(long),
            onchange: (/** @type {Event} */ event) =>
              set({ size: /** @type {HTMLSelectElement} */ (event.target).value }),
          },
          [...new Set([10, 20, 50, 100, long])]
            .filter((count) => count <= most)
            .sort((a, b) => a - b)
            .map((count) => h("option", { value: String(count) }, count)),
        ),
      ),
      button(ACTION.previous, back, {
        icon: "left",
        label: true,
        kind: "quiet",
        disabled: at <= 1 && !cursor,
        "data-key": "previous",
      }),
      button(ACTION.next, next, {
        icon: "right",
        label: true,
        kind: "quiet",
        disabled: !more,
        "data-key": "next",
      }),
    );
    pager.hidden = !cursor && at === 1 && (total ?? Infinity) <= Math.min(10, long);
  }

  /** Read a page of the list as the address has it, or another one of it. @param {Record<string, any>} [part] */
  function read(part = {}) {
    const { sort, ...query } = { sort: config.sort, size, ...Object.fromEntries(page.query), ...part };
    if (Number(query.size) > most) query.size = most;
    return load(sort ? { ...query, sort } : query);
  }

  async function refresh() {
    const mine = ++turn;
    place.setAttribute("aria-busy", "true");
    try {
      const loaded = await read();
      if (mine !== turn || page.signal.aborted) return;
      rows = loaded.items;
      total = loaded.total ?? rows.length;
      table.classList.toggle("dense", menu?.dense() ?? false);
      heads();
      keyed(
        body,
        groups?.arrange(rows) ?? rows,
        (item) => item.id ?? JSON.stringify(item),
        (item) => groups?.head(item) ?? line(item),
      );
      groups?.settle(body);
      choose();
      const content =
        rows.length > 0
          ? table
          : filtered(page, filters)
            ? empty(TABLE.noMatch)
            : config.empty instanceof Node
              ? config.empty
              : empty(String(config.empty || TABLE.none));
      // What is taken out and put back loses the focus and the scroll.
      if (place.firstChild !== content || place.childNodes.length > 1) place.replaceChildren(content);
      pages(loaded);
    } catch (problem) {
      if (mine === turn && !page.signal.aborted) place.replaceChildren(trouble(problem, refresh));
    } finally {
      if (mine === turn) place.removeAttribute("aria-busy");
    }
  }

  const element = Object.assign(h("div", { class: "listing" }, bar, place, status, pager), {
    reload: refresh,
    rows: () => rows,
  });
  place.append(h("p", { class: "loading" }, FRAME.loading));
  element.dataset.loading = "";
  page.during(refresh());
  return element;
}
