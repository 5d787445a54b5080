// @ts-check
/** Events on one axis of time: a row for each kind, with a mark of its own form. */
import { link } from "../core/dom.js";
import { dates, shownNumber } from "../core/locale.js";
import { PICTURES as T } from "../strings/pictures.js";
import { time } from "../parts/time.js";
import { label, shape, widePicture } from "./svg.js";

const [ROW, EDGE, SIZE] = [52, 10, 6];
/** Where the names of times stand at their marks, from the first to the last. */
const ANCHORS = ["start", "middle", "end"];
const DIAMOND = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
];
const SQUARE = [
  [-1, -1],
  [1, -1],
  [1, 1],
  [-1, 1],
];

/** Return the name of an instant; "medium" has seconds. @param {number} at @param {"short" | "medium"} timeStyle */
const named = (at, timeStyle) => dates({ dateStyle: "medium", timeStyle }).format(at);

/** @typedef {{at: string, text: string, href?: string | null}} Event `at` is RFC 3339. */

/**
 * Return the events of several kinds, from the first to the last of them; the table has the newest first.
 * @param {string} name
 * @param {{title: string, kind: string, events: Event[]}[]} kinds
 */
export function axis(name, kinds) {
  const instant = (/** @type {Event} */ { at }) => new Date(at).getTime();
  const instants = kinds.flatMap(({ events }) => events.map(instant));
  const [first, last] = [Math.min(...instants), Math.max(...instants)];
  const long = Math.max(1, last - first);
  const height = kinds.length * ROW + 26;
  const draw = (/** @type {number} */ width) => {
    const x = (/** @type {number} */ at) => EDGE + ((width - 2 * EDGE) * (at - first)) / long;
    const shapes = kinds.flatMap(({ title, kind, events }, row) => {
      const y = row * ROW + 36;
      return [
        label(`${title}: ${shownNumber(events.length)}`, { x: 1, y: y - 16, class: "name" }),
        shape("line", { x1: 1, x2: width - 1, y1: y, y2: y, class: "axis" }),
        ...events.map((event) =>
          mark(row, x(instant(event)), y, kind, `${named(instant(event), "medium")}: ${event.text}`),
        ),
      ];
    });
    // Where a step is shorter than a minute, seconds tell the names apart; of equal names the first stands.
    const style = long < ANCHORS.length * 60_000 ? "medium" : "short";
    const steps = ANCHORS.map((_, at) => first + (long * at) / (ANCHORS.length - 1));
    const texts = steps.map((at) => named(at, style));
    const names = texts.flatMap((text, at) => {
      const place = { x: x(steps[at]), y: height - 6, class: "soft", "text-anchor": ANCHORS[at] };
      return texts.indexOf(text) < at ? [] : label(text, place);
    });
    return [...shapes, ...names];
  };
  const all = kinds.flatMap(({ title, events }) => events.map((event) => ({ title, event })));
  return widePicture({
    name,
    draw,
    height,
    titles: [T.time, T.kind, T.what],
    rows: all
      .sort((a, b) => instant(b.event) - instant(a.event))
      .map(({ title, event }) => [
        time(event.at, { seconds: true }),
        title,
        event.href ? link(event.href, event.text) : event.text,
      ]),
  });
}

/** @param {number} row @param {number} x @param {number} y @param {string} kind @param {string} text */
function mark(row, x, y, kind, text) {
  const hint = shape("title", {}, text);
  if (row % 3 === 0) return shape("circle", { cx: x, cy: y, r: SIZE, class: kind }, hint);
  const corners = row % 3 === 1 ? DIAMOND : SQUARE;
  const points = corners.map(([right, down]) => `${x + SIZE * right},${y + SIZE * down}`).join(" ");
  return shape("polygon", { points, class: kind }, hint);
}
