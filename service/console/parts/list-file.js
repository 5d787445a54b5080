// @ts-check
/** Lists as files: what their columns show of all records that fit the filters. */
import { button, h, pieces } from "../core/dom.js";
import { TABLE } from "../strings/table.js";
import { TRANSFER } from "../strings/transfer.js";
import { csv } from "./csv.js";
import { tell } from "./dialog.js";
import { formats } from "./transfer.js";

/** The most rows of a file: more would hold up the browser. */
const MOST = 10_000;

/** The byte order mark, by which Excel recognizes UTF-8. */
const MARK = "\uFEFF";

/** @typedef {import("../core/dom.js").Child} Child */

/**
 * @typedef {object} Column
 * @property {string} title
 * @property {(row: any) => import("../core/dom.js").Child} cell
 * @property {string} [sort] A key of the server.
 * @property {string} [kind] May be number, line, or wide: left out where there is little room.
 * @property {string} [help] Stands below the title.
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

/** @typedef {(part: Record<string, any>) => Promise<Part>} Read */

/** Yield the records of a list, page by page. @param {Read} read @param {number} size */
export async function* pagesOf(read, size) {
  /** @type {Record<string, any>} */ let part = { page: 1, cursor: null, size };
  for (let count = 0; ;) {
    const { items, total, nextCursor } = await read(part);
    yield items;
    count += items.length;
    if (items.length === 0 || (nextCursor ? false : count >= (total ?? 0))) return;
    part = nextCursor ? { cursor: nextCursor, size } : { ...part, page: part.page + 1 };
  }
}

/**
 * Return a button that saves all records of a list to a file.
 * @param {string} name The name of the file, without its extension.
 * @param {Column[]} columns
 * @param {Read} read
 */
export function fileButton(name, columns, read) {
  const rows = async () => {
    /** @type {any[]} */ const records = [];
    for await (const items of pagesOf(read, 100)) {
      records.push(...items);
      if (records.length >= MOST) break;
    }
    if (records.length >= MOST) tell(TABLE.cutFile({ n: MOST }));
    return records.slice(0, MOST).map((record) => columns.map(({ cell }) => cell(record)));
  };
  const titles = columns.map(({ title }) => title);
  return button(TRANSFER.export, () => offerRows(name, titles, rows), { icon: "download" });
}

/**
 * Let the reader choose a format, and save rows as they are shown.
 * @param {string} name @param {string[]} titles @param {() => Promise<Child[][]>} rows
 */
export function offerRows(name, titles, rows) {
  formats(name, ["csv", "xlsx"], h("p", null, TRANSFER.listText), async (format) => {
    const lines = (await rows()).map((cells) => cells.map(textOf));
    return format === "csv"
      ? new Blob([MARK, csv([titles, ...lines])], { type: "text/csv" })
      : (await import("./workbook.js")).workbook(name, titles, lines);
  });
}

/** Return what a cell says, with exact times. @param {Child} cell */
function textOf(cell) {
  const shown = h(
    "span",
    null,
    pieces([cell]).map((piece) => (piece instanceof Node ? piece.cloneNode(true) : piece)),
  );
  for (const time of shown.querySelectorAll("time")) time.replaceWith(time.dateTime);
  for (const hidden of shown.querySelectorAll("[aria-hidden=true], .button")) hidden.remove();
  return (shown.textContent ?? "").replaceAll(/\s+/g, " ").trim();
}
