// @ts-check
/** The parts of a whole as one bar. */
import { PICTURES as T } from "../strings/pictures.js";
import { label, picture, shape } from "./svg.js";

const [WIDTH, TALL, LINE] = [720, 28, 24];

/**
 * Return a bar; each part has a number in the bar and in the list below it. Empty parts are left out.
 * @param {string} title
 * @param {{text: string, count: number, kind: string}[]} parts
 */
export function share(title, parts) {
  const given = parts.filter(({ count }) => count > 0);
  const whole = given.reduce((sum, { count }) => sum + count, 0);
  const name = T.share(
    title,
    given.map(({ text, count }) => `${text} ${count.toLocaleString()}`),
  );
  let x = 0;
  const shapes = given.flatMap(({ text, count, kind }, at) => {
    const width = (WIDTH * count) / whole;
    const left = x;
    const y = TALL + (at + 1) * LINE;
    x += width;
    return [
      shape(
        "rect",
        { x: left + 1, y: 1, width: Math.max(1, width - 2), height: TALL, class: kind },
        shape("title", {}, `${text}: ${count.toLocaleString()}`),
      ),
      ...(width > LINE
        ? [label(`${at + 1}`, { x: left + width / 2, y: 20, class: "on", "text-anchor": "middle" })]
        : []),
      shape("rect", { x: 1, y: y - 12, width: 14, height: 14, class: kind }),
      label(`${at + 1}. ${text}: ${count.toLocaleString()} (${percent(count / whole)})`, { x: 24, y }),
    ];
  });
  return picture({
    name,
    width: WIDTH,
    height: TALL + given.length * LINE + 10,
    shapes,
    titles: [title, T.number, T.part],
    rows: given.map(({ text, count }) => [text, count.toLocaleString(), percent(count / whole)]),
  });
}

/** @param {number} part */
function percent(part) {
  return part.toLocaleString(undefined, { style: "percent", maximumFractionDigits: 1 });
}
