// @ts-check
/** A control for rows of inputs that can be added and removed. */
import { button, h } from "../core/dom.js";

/**
 * Return the control. Each row is labelled by its place, which begins at 1.
 * @template Row
 * @param {object} options
 * @param {readonly Row[]} options.given
 * @param {Row} options.fresh What an added row begins with.
 * @param {string} options.kind The class of a row.
 * @param {string} options.add
 * @param {(place: number) => string} options.remove
 * @param {((place: number) => string)[]} options.labels Those of the inputs of a row.
 * @param {(row: Row) => import("../core/dom.js").Child[]} options.make Returns the inputs of a row.
 * @param {(inputs: HTMLInputElement[]) => Row} options.read
 * @param {number} [options.least] How many rows there are at least.
 * @param {number} [options.most]
 */
export function rowEditor({
  given,
  fresh,
  kind,
  add,
  remove,
  labels,
  make,
  read,
  least = 0,
  most = Infinity,
}) {
  const rows = h("div", { class: "stages" });
  const inputsOf = (/** @type {Element} */ row) => [...row.querySelectorAll("input")];
  const more = button(
    add,
    () => {
      rows.append(line(fresh));
      number();
      rows.lastElementChild?.querySelector("input")?.focus();
    },
    { icon: "plus", kind: "quiet" },
  );
  const line = (/** @type {Row} */ values) => {
    const gone = button(
      "",
      () => {
        const next = row.nextElementSibling ?? row.previousElementSibling;
        row.remove();
        number();
        (next?.querySelector("input") ?? more).focus();
      },
      { icon: "trash", label: true, kind: "quiet" },
    );
    const row = h("div", { class: kind }, make(values), gone);
    return row;
  };
  /** Name what each control is for. */
  const number = () => {
    [...rows.children].forEach((row, index) => {
      inputsOf(row).forEach((input, place) => input.setAttribute("aria-label", labels[place](index + 1)));
      const gone = /** @type {HTMLElement} */ (row.querySelector("button.square"));
      gone.setAttribute("aria-label", remove(index + 1));
      gone.setAttribute("title", remove(index + 1));
      gone.hidden = rows.children.length <= least;
    });
    more.hidden = rows.children.length >= most;
  };
  const set = (/** @type {readonly Row[]} */ values) => {
    rows.replaceChildren(...values.map(line));
    number();
  };
  set(given);
  return {
    element: h("div", { role: "group", tabindex: "-1", class: "stages" }, rows, more),
    get: () => [...rows.children].map((row) => read(inputsOf(row))),
    set,
  };
}
