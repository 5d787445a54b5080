// @ts-check
/** Rows of a table in groups that fold. */
import { h, icon } from "../core/dom.js";

/**
 * @typedef {object} Groups
 * @property {(items: any[]) => any[]} arrange Returns the items by group, each group after its head.
 * @property {(item: any) => HTMLTableRowElement | null} head Returns the row of a head, null for any other item.
 * @property {(body: HTMLElement) => void} settle Hides the rows that are folded, once all are in the table.
 */

/** The head of a group, among its items. */
class Head {
  /** @param {string} name @param {number} count */
  constructor(name, count) {
    this.id = `group ${name}`;
    this.name = name;
    this.count = count;
  }
}

/**
 * Return what arranges the rows of a list: a row with a button for each group, and its rows below it. What is folded
 * stays folded while the list loads again.
 * @param {(item: any) => string} nameOf
 * @param {number} columns How many columns the table has.
 * @param {(name: string, n: number) => string} title
 * @returns {Groups}
 */
export function folding(nameOf, columns, title) {
  /** @type {Set<string>} */ const folded = new Set();
  return {
    arrange: (items) =>
      [...Map.groupBy(items, nameOf)].flatMap(([name, rows]) => [new Head(name, rows.length), ...rows]),
    head: (item) => (item instanceof Head ? head(item) : null),
    settle,
  };

  /** @param {Head} group */
  function head({ name, count }) {
    const twist = h(
      "button",
      { type: "button", class: "button plain fold" },
      icon("down"),
      title(name, count),
    );
    twist.addEventListener("click", () => {
      folded[folded.has(name) ? "delete" : "add"](name);
      settle(/** @type {HTMLElement} */ (twist.closest("tbody")));
    });
    return h(
      "tr",
      { class: "fold", dataset: { group: name } },
      h("th", { colspan: columns, scope: "rowgroup" }, twist),
    );
  }

  /** @param {HTMLElement} body */
  function settle(body) {
    let closed = false;
    for (const row of /** @type {HTMLTableRowElement[]} */ ([...body.children])) {
      const { group } = row.dataset;
      if (group === undefined) row.hidden = closed;
      else {
        closed = folded.has(group);
        row.querySelector("button")?.setAttribute("aria-expanded", String(!closed));
      }
    }
  }
}
