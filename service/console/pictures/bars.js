// @ts-check
/** Counts over time: a row of bars for each kind, so that none is told from another by its colour. */
import { label, picture, shape } from "./svg.js";

const [WIDTH, ROW, TALL, LEFT] = [720, 74, 44, 4];
/** About how many places have their name below the bars. */
const NAMED = 6;

/**
 * Return the bars of several kinds. Each row has a scale of its own, whose highest count stands beside its title.
 * @param {object} config
 * @param {string} config.name
 * @param {string} config.place The title of the places, such as "Hour".
 * @param {string[]} config.places
 * @param {(place: string) => string} [config.short] A shorter name of a place.
 * @param {{title: string, kind: string, counts: readonly number[]}[]} config.kinds
 */
export function bars({ name, place, places, short = (text) => text, kinds }) {
  const step = (WIDTH - 2 * LEFT) / places.length;
  const every = Math.ceil(places.length / NAMED);
  const shapes = kinds.flatMap(({ title, kind, counts }, row) => {
    const most = Math.max(...counts);
    const base = (row + 1) * ROW;
    return [
      label(title, { x: LEFT, y: base - TALL - 8, class: "name" }),
      label(most.toLocaleString(), {
        x: WIDTH - LEFT,
        y: base - TALL - 8,
        class: "soft",
        "text-anchor": "end",
      }),
      shape("line", { x1: LEFT, x2: WIDTH - LEFT, y1: base, y2: base, class: "axis" }),
      ...counts.flatMap((count, at) => {
        if (!count) return [];
        const height = Math.max(2, (TALL * count) / most);
        return shape(
          "rect",
          { x: LEFT + at * step + 0.5, y: base - height, width: Math.max(1, step - 1), height, class: kind },
          shape("title", {}, `${places[at]}: ${count.toLocaleString()}`),
        );
      }),
    ];
  });
  const height = kinds.length * ROW + 22;
  const names = places.flatMap((text, at) =>
    at % every ? [] : label(short(text), { x: LEFT + at * step, y: height - 5, class: "soft" }),
  );
  return picture({
    name,
    width: WIDTH,
    height,
    shapes: [...shapes, ...names],
    titles: [place, ...kinds.map(({ title }) => title)],
    rows: places.map((text, at) => [text, ...kinds.map(({ counts }) => counts[at].toLocaleString())]),
  });
}
