// @ts-check
/** A dialog in which one record of many is looked for and chosen. */
import { button, empty, h } from "../core/dom.js";
import { TABLE } from "../strings/table.js";
import { dialog } from "./dialog.js";
import { trouble } from "./trouble.js";

const MOST_SHOWN = 20;

/**
 * Let the reader look for a record, and return it; undefined if none is chosen.
 * @template T
 * @param {object} config
 * @param {string} config.title
 * @param {string} config.label What the reader types.
 * @param {(text: string, size: number) => Promise<{items: readonly T[], total: number | null}>} config.find
 * @param {(item: T) => boolean} config.fits Whether an item can be chosen.
 * @param {(item: T) => [string, import("../core/dom.js").Child]} config.words The name of an item, and a note.
 * @returns {Promise<T | undefined>}
 */
export async function chosen({ title, label, find, fits, words }) {
  const list = h("div", { "aria-live": "polite" });
  let turn = 0;
  const input = h("input", { id: "chooser", type: "search", oninput: () => look() });
  const look = async () => {
    const mine = ++turn;
    try {
      const { items, total } = await find(input.value.trim(), MOST_SHOWN);
      if (mine !== turn) return;
      const free = items.filter(fits);
      const rows = free.map((item) => {
        const [name, note] = words(item);
        return h(
          "li",
          null,
          button(name, () => box.close(item), { kind: "quiet" }),
          " ",
          note,
        );
      });
      list.replaceChildren(
        rows.length ? h("ul", { class: "choices" }, rows) : empty(TABLE.noMatch),
        (total ?? 0) > MOST_SHOWN ? h("p", null, TABLE.moreMatch({ n: total ?? 0 })) : "",
      );
    } catch (problem) {
      if (mine === turn) list.replaceChildren(trouble(problem, look));
    }
  };
  const box = dialog(title, h("div", { class: "field" }, h("label", { for: "chooser" }, label), input), list);
  look();
  return box.closed;
}
