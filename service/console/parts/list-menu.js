// @ts-check
/** How a person sees a list: its columns, how close its rows are, and filters kept under a name. */
import { button, h, link } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { TABLE as T } from "../strings/table.js";
import { copyText } from "./copy.js";
import { ask, tell } from "./dialog.js";
import { filtered } from "./filters.js";
import { menu } from "./more.js";
import { kept, keep } from "./remembered.js";

/** The fewest columns among which there is a choice. */
const FEWEST = 4;

/** @typedef {import("./list-file.js").Column} Column */
/**
 * What a person has chosen; `filters` are queries by name.
 * @typedef {{hidden?: string[], dense?: boolean, filters?: Record<string, string>}} Kept
 */

/**
 * Return the menu of a list, and what the reader has chosen. It is kept by person, in this browser.
 * @param {Page} page
 * @param {{caption: string, columns: Column[], filters: import("./filters.js").Filter[]}} list
 * @param {() => Promise<void>} refresh Shows the list anew.
 */
export function listMenu(page, { caption, columns, filters }, refresh) {
  const name = `list.${page.me.id}.${page.path.replaceAll(/\d+/g, "*")}.${caption}`;
  /** @type {Kept} */ const chosen = kept(name) ?? {};
  const set = (/** @type {Kept} */ changes) => {
    Object.assign(chosen, changes);
    keep(name, chosen);
    return refresh();
  };
  const box = (
    /** @type {string} */ text,
    /** @type {boolean} */ checked,
    /** @type {(on: boolean) => any} */ change,
  ) => {
    const input = h("input", { type: "checkbox", checked, onchange: () => change(input.checked) });
    return h("label", null, input, " ", text);
  };
  const optional = columns.length < FEWEST ? [] : columns.slice(1).filter(({ title }) => title);
  const hidden = () => chosen.hidden ?? [];
  const element = menu(T.view, "settings", () => [
    ...optional.map(({ title }) =>
      box(title, !hidden().includes(title), (on) =>
        set({ hidden: on ? hidden().filter((each) => each !== title) : [...hidden(), title] }),
      ),
    ),
    box(T.dense, chosen.dense ?? false, (dense) => set({ dense })),
    ...(filters.length > 0 ? saved() : []),
  ]);

  /** Return the ways to kept filters, and what keeps and shares those of now. */
  function saved() {
    const known = chosen.filters ?? {};
    return [
      ...Object.entries(known).map(([title, query]) =>
        h(
          "span",
          { class: "kept" },
          link(`${page.path}?${query}`, title),
          button(
            T.forget({ name: title }),
            () =>
              set({ filters: Object.fromEntries(Object.entries(known).filter(([each]) => each !== title)) }),
            { icon: "trash", label: true, kind: "quiet" },
          ),
        ),
      ),
      filtered(page, filters) && button(T.keep, keepFilters, { icon: "plus" }),
      button(T.share, () => copyText(location.href), { icon: "copy" }),
    ];
  }

  async function keepFilters() {
    const query = new URLSearchParams(page.query);
    for (const part of ["page", "cursor"]) query.delete(part);
    const extra = [{ name: "title", label: T.keepName, required: true, most: 64 }];
    const named = await ask({ title: T.keep, confirm: ACTION.save, extra });
    if (!named) return;
    await set({ filters: { ...chosen.filters, [named.title]: String(query) } });
    tell(T.keptAs({ name: named.title }));
  }

  return {
    element,
    dense: () => chosen.dense ?? false,
    hides: (/** @type {Column} */ { title }) => hidden().includes(title),
  };
}
