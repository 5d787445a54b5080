// @ts-check
/** Boxes in columns, and the lines from box to box. */
import { PICTURES as T } from "../strings/pictures.js";
import { label, picture, shape } from "./svg.js";

const [WIDE, GAP, TALL, APART, TOP] = [160, 26, 34, 12, 28];
/** The most boxes of a column; the others are counted in a last one. */
const MOST = 12;
/** The most characters that a box has room for. */
const ROOM = 20;

/** @typedef {{title: string, boxes: {key: string, text: string, kind?: string}[]}} Column */
/** @typedef {{from: string, to: string, kind?: string, text?: string}} Edge `text` says what the line means. */

/**
 * Return the picture; columns without boxes are left out, and the table has a row for each line.
 * @param {string} name
 * @param {Column[]} columns
 * @param {Edge[]} edges From box to box by their keys.
 */
export function path(name, columns, edges) {
  const shown = columns.filter(({ boxes }) => boxes.length > 0);
  const texts = new Map(shown.flatMap(({ boxes }) => boxes.map(({ key, text }) => [key, text])));
  const rows = Math.max(...shown.map(({ boxes }) => Math.min(boxes.length, MOST + 1)));
  const height = TOP + rows * (TALL + APART);
  /** @type {Map<string, {x: number, y: number}>} */ const places = new Map();
  const drawn = shown.flatMap(({ title, boxes }, column) => {
    const x = column * (WIDE + GAP) + 1;
    const rest = boxes.length - MOST;
    const all =
      rest > 0 ? [...boxes.slice(0, MOST), { key: "", text: T.more({ n: rest }), kind: "more" }] : boxes;
    const first = TOP + ((rows - all.length) * (TALL + APART)) / 2;
    return [
      label(title, { x, y: 16, class: "soft" }),
      ...all.flatMap(({ key, text, kind = "" }, row) => {
        const y = first + row * (TALL + APART);
        if (key) places.set(key, { x, y });
        return [
          shape("rect", { x, y, width: WIDE, height: TALL, rx: 6, class: `box ${kind}`.trim() }),
          label(text, { x: x + 10, y: y + 22, class: "name" }, ROOM),
        ];
      }),
    ];
  });
  const lines = edges.flatMap(({ from, to, kind = "" }) => {
    const [start, end] = [places.get(from), places.get(to)];
    if (!start || !end) return [];
    const [x1, x2] = [start.x + WIDE, end.x];
    const [y1, y2] = [start.y + TALL / 2, end.y + TALL / 2];
    const middle = (x1 + x2) / 2;
    return shape("path", {
      d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`,
      class: `edge ${kind}`.trim(),
    });
  });
  return picture({
    name,
    width: shown.length * (WIDE + GAP) - GAP + 2,
    height,
    shapes: [...lines, ...drawn],
    titles: [T.from, T.to, T.meaning],
    rows: edges
      .map((edge) => ({ ...edge, x: places.get(edge.from)?.x ?? 0 }))
      .sort((a, b) => a.x - b.x)
      .map(({ from, to, text = "" }) => [texts.get(from) ?? from, texts.get(to) ?? to, text]),
  });
}
