// @ts-check
/** A choice of several among many, with a search: a control for forms. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { TABLE } from "../strings/table.js";

const SEARCHED = 8;

/** @typedef {{key: any, text: string, note?: import("../core/dom.js").Child}} Option */
/**
 * A sentence, and a button that creates what was looked for, which is then chosen.
 * @typedef {{none: string, act?: string, create?: (text: string) => Promise<Option | null>}} Missing
 */

/**
 * Return a control for a field of the type custom, whose value is a list of keys.
 * @param {Option[]} options One that is created joins them.
 * @param {any[]} chosen
 * @param {Missing} [missing] What is shown where nothing matches.
 * @returns {{element: HTMLElement, get: () => any[], set: (keys: any[]) => void}}
 */
export function picker(options, chosen, { none, act, create } = { none: TABLE.noMatch }) {
  const row = (/** @type {Option} */ { key, text, note }) => {
    const box = h("input", { type: "checkbox", checked: chosen.includes(key) });
    return {
      key,
      box,
      text: text.toLowerCase(),
      element: h("label", null, box, " ", text, note && [" ", h("small", null, note)]),
    };
  };
  const rows = options.map(row);
  const look = () => {
    const text = search.value.toLowerCase();
    for (const row of rows) row.element.hidden = !row.text.includes(text);
    nothing.hidden = rows.some(({ element }) => !element.hidden);
  };
  const search = h("input", {
    type: "search",
    "aria-label": ACTION.search,
    placeholder: ACTION.search,
    oninput: (/** @type {Event} */ event) => {
      event.stopPropagation(); // to look for something changes nothing
      look();
    },
    onchange: (/** @type {Event} */ event) => event.stopPropagation(),
  });
  const made = async () => {
    const option = await create?.(search.value.trim());
    if (!option) return;
    const added = row(option);
    rows.push(added);
    options.push(option);
    nothing.before(added.element);
    look();
    added.box.click(); // the form hears of it
    added.box.focus();
  };
  const nothing = h("p", { class: "help", role: "status", hidden: true }, none);
  return {
    element: h(
      "div",
      { class: "picker", role: "group", tabindex: "-1" },
      (rows.length > SEARCHED || create) && search,
      h(
        "div",
        { class: "checks" },
        rows.map(({ element }) => element),
        nothing,
      ),
      act && button(act, made, { icon: "plus" }),
    ),
    get: () => rows.filter(({ box }) => box.checked).map(({ key }) => key),
    set: (keys) => {
      for (const { key, box } of rows) box.checked = keys.includes(key);
    },
  };
}
