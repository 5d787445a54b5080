// @ts-check
/** Long lists: filters, order and paging in the address; the server sends one page at a time. */
import { button, empty, h, icon, keyed, link, pieces } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { FRAME } from "../strings/frame.js";
import { TABLE } from "../strings/table.js";
import { leading } from "./row-links.js";
import { scrolling } from "./scroll.js";
import { trouble } from "./trouble.js";

/**
 * The page before one that has a cursor, by that cursor.
 * @type {Map<string, {page: string | null, cursor: string | null}>}
 */
const before = new Map();

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: any) => import("../core/dom.js").Child} cell
 * @property {string} [sort] A key of the server.
 * @property {string} [kind] May be number, line, or wide: left out where there is little room.
 * @property {string} [help] Stands below the title.
 */

/**
 * @typedef {object} Filter
 * @property {string} name
 * @property {string} label
 * @property {string} [type] Text, select, date or check.
 * @property {(string | [string, string])[]} [options]
 * @property {string} [unset] What a select without a choice means.
 * @property {string} [value]
 * @property {boolean} [more] Whether it is folded away while no such filter is set.
 */

/**
 * @typedef {object} Part A part of a list.
 * @property {any[]} items
 * @property {number | null} [total]
 * @property {number} [page]
 * @property {number} [size]
 * @property {string | null} [nextCursor]
 * @property {boolean} [totalIsExact]
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
 * @property {(keys: Set<any>) => void} [chosen]
 * @property {number} [size]
 * @property {number} [most] The most rows of a page that the reader may choose: more would hold up the browser.
 * @property {import("./folding.js").Groups} [groups] Puts the rows in groups.
 * @property {boolean} [grid] Whether the reader moves among its cells by arrow keys.
 * @property {string} [sort] The order when the address names none.
 */

/**
 * Return a list of a view that loads itself, with `reload()` and, while rows are shown, `rows()`. Its filters are those
 * of the view's address.
 * @param {import("../core/page.js").Page} page
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
  let turn = 0;
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

  const filtered = () => filters.some(({ name }) => page.query.has(name));
  const clear = button(
    ACTION.reset,
    () => {
      const controls = /** @type {NodeListOf<HTMLInputElement | HTMLSelectElement>} */ (
        bar?.querySelectorAll("[role=search] input, [role=search] select")
      );
      for (const control of controls) {
        if (control instanceof HTMLInputElement && control.type === "checkbox") control.checked = false;
        else control.value = "";
      }
      controls[0].focus();
      return set(Object.fromEntries(filters.map(({ name }) => [name, null])));
    },
    { kind: "quiet", hidden: !filtered() },
  );
  const bar =
    filters.length > 0 || actions.length > 0
      ? h("div", { class: "bar" }, search(), h("div", { class: "actions" }, actions))
      : null;

  /** @param {Record<string, any>} changes @param {{push?: boolean}} [options] */
  function set(changes, { push = false } = {}) {
    page.setQuery({ page: null, cursor: null, ...changes }, { show: false, push });
    clear.hidden = !filtered(); // now, while what moves is what the reader has just done
    return refresh();
  }

  /** Show another page; the way back leads to this one. @param {Record<string, any>} place */
  function turnTo(place) {
    return set(place, { push: true });
  }

  function search() {
    if (filters.length === 0) return null;
    const controls = filters.map((filter) => {
      let timer = 0;
      const value = page.query.get(filter.name) ?? "";
      const label = filter.label;
      const apply = () => {
        clearTimeout(timer);
        // Leaving a field whose value is applied already would take the focus from the rows.
        if (read() !== (page.query.get(filter.name) ?? "")) set({ [filter.name]: read() });
      };
      /** @type {HTMLInputElement | HTMLSelectElement} */ let control;
      let read = () => control.value.trim();
      if (filter.type === "select") {
        const options = (filter.options ?? []).map((option) =>
          Array.isArray(option) ? option : [option, option],
        );
        control = h(
          "select",
          { name: filter.name, onchange: apply, value },
          h("option", { value: "" }, filter.unset ?? TABLE.all),
          options.map(([key, text]) => h("option", { value: key }, text)),
        );
      } else if (filter.type === "check") {
        const box = h("input", {
          type: "checkbox",
          name: filter.name,
          checked: value === "true",
          onchange: apply,
        });
        read = () => (box.checked ? "true" : "");
        return h("label", { class: "filter check" }, box, " ", label);
      } else if (filter.type === "date") {
        control = h("input", {
          type: "datetime-local",
          name: filter.name,
          onchange: apply,
          value: localTime(value),
        });
        read = () => (control.value ? new Date(control.value).toISOString() : "");
      } else {
        control = h("input", {
          type: "search",
          name: filter.name,
          value,
          autocomplete: "off",
          onchange: apply,
          oninput: () => {
            clearTimeout(timer);
            timer = setTimeout(apply, 350);
          },
        });
      }
      return h("label", { class: "filter" }, h("span", null, label), control);
    });
    const more = controls.filter((_, place) => filters[place].more);
    const opened = filters.some((filter) => filter.more && page.query.has(filter.name));
    const narrow = matchMedia("(width < 40rem)").matches && !filtered();
    return h(
      "details",
      { class: "narrowing", open: !narrow },
      h("summary", null, TABLE.filters),
      h(
        "form",
        {
          class: "filters",
          role: "search",
          "aria-label": caption,
          onsubmit: (/** @type {Event} */ event) => {
            event.preventDefault();
            refresh();
          },
        },
        controls.filter((control) => !more.includes(control)),
        more.length > 0 &&
          h(
            "details",
            { class: "more", open: opened },
            h("summary", null, TABLE.more),
            h("div", { class: "filters" }, more),
          ),
        clear,
      ),
    );
  }

  function heads() {
    const sorted = page.query.get("sort") ?? config.sort ?? "";
    head.replaceChildren(
      ...pieces([
        select && h("th", { class: "box", scope: "col" }, h("span", { class: "hidden" }, ACTION.more)),
        columns.map(({ title, sort, kind, help }) => {
          const on = sort && sorted.replace(/^-/, "") === sort;
          const down = on && sorted.startsWith("-");
          return h(
            "th",
            { scope: "col", class: kind, "aria-sort": on ? (down ? "descending" : "ascending") : null },
            sort
              ? button(title, () => set({ sort: on && !down ? `-${sort}` : sort }), {
                  kind: "sort",
                  "data-key": `sort-${sort}`,
                  "aria-label": TABLE.sortBy(title),
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
          chosen?.(keys);
        },
      });
    const cells = columns.map(({ title, cell, kind }, index) => {
      const content = pieces([cell(item)]);
      if (index === 0 && box)
        box.setAttribute(
          "aria-label",
          TABLE.select(
            content.map((piece) => (typeof piece === "string" ? piece : piece.textContent)).join(" "),
          ),
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
        ? TABLE.rows(loaded.items.length)
        : TABLE.range(
            Math.min(total, (at - 1) * long + 1),
            Math.min(total, at * long),
            loaded.totalIsExact === false ? TABLE.atLeast(total) : total.toLocaleString(),
          );
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

  async function refresh() {
    const mine = ++turn;
    place.setAttribute("aria-busy", "true");
    const { sort, ...query } = { sort: config.sort, size, ...Object.fromEntries(page.query) };
    if (Number(query.size) > most) query.size = most;
    try {
      const loaded = await load(sort ? { ...query, sort } : query);
      if (mine !== turn || page.signal.aborted) return;
      rows = loaded.items;
      heads();
      keyed(
        body,
        groups?.arrange(rows) ?? rows,
        (item) => item.id ?? JSON.stringify(item),
        (item) => groups?.head(item) ?? line(item),
      );
      groups?.settle(body);
      const content =
        rows.length > 0
          ? table
          : filtered()
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

/** @param {string} iso */
function localTime(iso) {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
