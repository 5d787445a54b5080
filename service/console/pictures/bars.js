// @ts-check
/** Counts over time: a row of bars for each kind, so that none is told from another by its colour. */
import { shownNumber } from "../core/locale.js";
import { PICTURES as T } from "../strings/pictures.js";
import { label, shape, widePicture } from "./svg.js";

const [ROW, TALL, LEFT] = [74, 44, 4];
/** About how many pixels the name of a place takes below the bars. */
const NAMED = 120;

/**
 * Return the bars of several kinds. Each row has a scale of its own, whose highest count stands at its end.
 * @param {object} config
 * @param {string} config.name
 * @param {string} config.place The title of the places, such as "Hour".
 * @param {string[]} config.places
 * @param {(place: string) => string} [config.short] A shorter name of a place.
 * @param {{title: string, kind: string, counts: readonly number[]}[]} config.kinds
 */
export function bars({ name, place, places, short = (text) => text, kinds }) {
  const height = kinds.length * ROW + 22;
  const draw = (/** @type {number} */ width) => {
    const step = (width - 2 * LEFT) / places.length;
    const every = Math.ceil(NAMED / step);
    const shapes = kinds.flatMap(({ title, kind, counts }, row) => {
      const most = Math.max(...counts);
      const base = (row + 1) * ROW;
      const above = base - TALL - 8;
      return [
        label(title, { x: LEFT, y: above, class: "name" }),
        label(T.highest({ n: most }), { x: width - LEFT, y: above, class: "soft", "text-anchor": "end" }),
        shape("line", { x1: LEFT, x2: width - LEFT, y1: base, y2: base, class: "axis" }),
        ...counts.flatMap((count, at) => {
          if (!count) return [];
          const tall = Math.max(2, (TALL * count) / most);
          return shape(
            "rect",
            {
              x: LEFT + at * step + 0.5,
              y: base - tall,
              width: Math.max(1, step - 1),
              height: tall,
              class: kind,
            },
            shape("title", {}, `${places[at]}: ${shownNumber(count)}`),
          );
        }),
      ];
    });
    const names = places.flatMap((text, at) =>
      at % every ? [] : label(short(text), { x: LEFT + at * step, y: height - 5, class: "soft" }),
    );
    return [...shapes, ...names];
  };
  return widePicture({
    name,
    draw,
    height,
    titles: [place, ...kinds.map(({ title }) => title)],
    rows: places.map((text, at) => [text, ...kinds.map(({ counts }) => shownNumber(counts[at]))]),
  });
}
