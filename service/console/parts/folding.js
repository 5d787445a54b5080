// @ts-check
/** Rows of a table in groups that fold. */
import { h, icon } from "../core/dom.js";

/**
 * Return what arranges the rows of a list: a row with a button for each group, and its rows below it. What is folded
 * stays folded while the list loads again.
 * @template T
 * @param {(item: T) => string} nameOf
 * @param {number} columns How many columns the table has.
 * @param {(name: string, n: number) => string} title
 * @returns {(items: T[], line: (item: T) => HTMLTableRowElement) => HTMLTableRowElement[]}
 */
export function folding(nameOf, columns, title) {
  /** @type {Set<string>} */ const folded = new Set();
  return (items, line) => {
    /** @type {Map<string, HTMLTableRowElement[]>} */ const groups = new Map();
    for (const item of items) {
      const name = nameOf(item);
      groups.set(name, [...(groups.get(name) ?? []), line(item)]);
    }
    return [...groups].flatMap(([name, rows]) => [head(name, rows), ...rows]);
  };

  /** @param {string} name @param {HTMLTableRowElement[]} rows */
  function head(name, rows) {
    const twist = h("button", { type: "button", class: "button plain fold" });
    const fit = () => {
      const closed = folded.has(name);
      for (const row of rows) row.hidden = closed;
      twist.setAttribute("aria-expanded", String(!closed));
      twist.replaceChildren(icon(closed ? "right" : "down"), title(name, rows.length));
    };
    twist.addEventListener("click", () => {
      folded[folded.has(name) ? "delete" : "add"](name);
      fit();
    });
    fit();
    return h("tr", { class: "fold" }, h("th", { colspan: columns, scope: "rowgroup" }, twist));
  }
}
