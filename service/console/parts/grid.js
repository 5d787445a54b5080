// @ts-check
/** One tab stop for a table: arrow keys move among its links and buttons; Home and End go to the ends of a row. */

const STEPS = /** @type {Record<string, [number, number]>} */ ({
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
});

/** @param {Element | undefined} cell @returns {HTMLElement | null | undefined} */
const stopIn = (cell) => cell?.querySelector("a, button");

/**
 * Keep one tab stop in a table, also when its rows are loaded again.
 * @param {HTMLElement} place Holds the table, whose cells have a link or a button each.
 */
export function moving(place) {
  /** @type {HTMLElement | null} */ let current = null;
  let kept = 0;
  const settle = () => {
    const stops = [...place.querySelectorAll("tbody a, tbody button")];
    if (!current || !stops.includes(current) || current.closest("tr")?.hidden)
      current =
        /** @type {HTMLElement | undefined} */ (stops.find((stop) => !stop.closest("tr")?.hidden)) ?? null;
    for (const stop of stops) /** @type {HTMLElement} */ (stop).tabIndex = stop === current ? 0 : -1;
  };
  new MutationObserver(settle).observe(place, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["hidden"],
  });
  place.addEventListener("focusin", ({ target }) => {
    const cell = target instanceof Element ? target.closest("tbody th, tbody td") : null;
    if (!cell || !(target instanceof HTMLElement)) return;
    current = target;
    settle();
  });
  place.addEventListener("keydown", (event) => {
    const from = event.target instanceof Element ? event.target.closest("tbody th, tbody td") : null;
    if (!(from instanceof HTMLTableCellElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.key in STEPS) && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const row = /** @type {HTMLTableRowElement} */ (from.parentElement);
    const rows = /** @type {HTMLTableRowElement[]} */ ([...place.querySelectorAll("tbody tr:not([hidden])")]);
    const [down, right] = STEPS[event.key] ?? [0, 0];
    // A row with one cell, the head of a group, is passed without losing the column.
    if (row.cells.length > 1) kept = from.cellIndex;
    const column = event.key === "Home" ? 0 : event.key === "End" ? row.cells.length - 1 : kept + right;
    const cells = rows[rows.indexOf(row) + down]?.cells;
    stopIn(cells?.[cells.length > 1 ? column : 0])?.focus();
  });
}
