// @ts-check
/** The parts of a whole as one bar. */
import { shownNumber } from "../core/locale.js";
import { PICTURES as T } from "../strings/pictures.js";
import { label, shape, widePicture } from "./svg.js";

const [TALL, LINE] = [28, 24];

/**
 * Return a bar; each part has its name in the bar, or its number in the list below it. Empty parts are left out.
 * @param {string} title
 * @param {{text: string, count: number, kind: string}[]} parts
 */
export function share(title, parts) {
  const given = parts.filter(({ count }) => count > 0);
  const whole = given.reduce((sum, { count }) => sum + count, 0);
  const name = T.share(
    title,
    given.map(({ text, count }) => `${text} ${shownNumber(count)}`),
  );
  const draw = (/** @type {number} */ room) => {
    let x = 0;
    return given.flatMap(({ text, count, kind }, at) => {
      const width = (room * count) / whole;
      const left = x;
      const y = TALL + (at + 1) * LINE;
      const middle = { x: left + width / 2, y: 20, class: "on", "text-anchor": "middle" };
      x += width;
      return [
        shape(
          "rect",
          { x: left + 1, y: 1, width: Math.max(1, width - 2), height: TALL, class: kind },
          shape("title", {}, `${text}: ${shownNumber(count)}`),
        ),
        ...(width > LINE ? [label(width > 5 * LINE ? text : `${at + 1}`, middle)] : []),
        shape("rect", { x: 1, y: y - 12, width: 14, height: 14, class: kind }),
        label(`${at + 1}. ${text}: ${shownNumber(count)} (${percent(count / whole)})`, { x: 24, y }),
      ];
    });
  };
  return widePicture({
    name,
    draw,
    height: TALL + given.length * LINE + 10,
    titles: [title, T.number, T.part],
    rows: given.map(({ text, count }) => [text, shownNumber(count), percent(count / whole)]),
  });
}

/** @param {number} part */
function percent(part) {
  return shownNumber(part, { style: "percent", maximumFractionDigits: 1 });
}
