// @ts-check
/** A choice of several among many, with a search: a control for forms. */
import { h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { TABLE } from "../strings/table.js";

const SEARCHED = 8;

/**
 * Return a control for a field of the type custom, whose value is a list of keys.
 * @param {{key: any, text: string, note?: import("../core/dom.js").Child}[]} options
 * @param {any[]} chosen
 * @param {string} [none] What is shown where nothing matches.
 * @returns {{element: HTMLElement, get: () => any[], set: (keys: any[]) => void}}
 */
export function picker(options, chosen, none = TABLE.noMatch) {
  const rows = options.map(({ key, text, note }) => {
    const box = h("input", { type: "checkbox", checked: chosen.includes(key) });
    return {
      key,
      box,
      text: text.toLowerCase(),
      element: h("label", null, box, " ", text, note && [" ", h("small", null, note)]),
    };
  });
  const search = h("input", {
    type: "search",
    "aria-label": ACTION.search,
    placeholder: ACTION.search,
    oninput: (/** @type {Event} */ event) => {
      event.stopPropagation(); // to look for something changes nothing
      const text = search.value.toLowerCase();
      for (const row of rows) row.element.hidden = !row.text.includes(text);
      nothing.hidden = rows.some(({ element }) => !element.hidden);
    },
  });
  const nothing = h("p", { class: "help", role: "status", hidden: true }, none);
  return {
    element: h(
      "div",
      { class: "picker", role: "group", tabindex: "-1" },
      rows.length > SEARCHED && search,
      h(
        "div",
        { class: "checks" },
        rows.map((row) => row.element),
        nothing,
      ),
    ),
    get: () => rows.filter(({ box }) => box.checked).map(({ key }) => key),
    set: (keys) => {
      for (const { key, box } of rows) box.checked = keys.includes(key);
    },
  };
}
