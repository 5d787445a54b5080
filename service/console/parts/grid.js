// @ts-check
/** Moves the focus among the links of a table by the arrow keys; Home and End go to the ends of a row. */

const STEPS = /** @type {Record<string, [number, number]>} */ ({
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
});

/** @param {HTMLElement} place Holds the table, whose cells have a link each. */
export function moving(place) {
  place.addEventListener("keydown", (event) => {
    const from = event.target instanceof Element ? event.target.closest("tbody th, tbody td") : null;
    if (!(from instanceof HTMLTableCellElement) || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = /** @type {HTMLTableRowElement} */ (from.parentElement);
    const rows = [...place.querySelectorAll("tbody tr")];
    const [down, right] = STEPS[event.key] ?? [0, 0];
    const column =
      event.key === "Home" ? 0 : event.key === "End" ? row.cells.length - 1 : from.cellIndex + right;
    if (!(event.key in STEPS) && event.key !== "Home" && event.key !== "End") return;
    const to = /** @type {HTMLTableRowElement | undefined} */ (rows[rows.indexOf(row) + down])?.cells[
      column
    ]?.querySelector("a");
    event.preventDefault();
    to?.focus();
  });
}
