// @ts-check
/** A choice of several among many, with a search: a control for forms. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { TABLE } from "../strings/table.js";

const SEARCHED = 8;
/** The most options that are shown beside the chosen ones: a search finds the others. */
const MOST = 100;

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
  const keys = new Set(chosen);
  const row = (/** @type {Option} */ { key, text, note }) => {
    const onchange = () => keys[box.checked ? "add" : "delete"](key);
    const box = h("input", { type: "checkbox", checked: keys.has(key), onchange });
    return h("label", null, box, " ", text, note && [" ", h("small", null, note)]);
  };
  const look = () => {
    const text = search.value.toLowerCase();
    const matching = options.filter((option) => option.text.toLowerCase().includes(text));
    const shown = matching.filter(({ key }, place) => place < MOST || keys.has(key));
    const whole = shown.length === matching.length;
    rest.textContent = matching.length === 0 ? none : TABLE.moreMatch({ n: matching.length });
    rest.hidden = whole && matching.length > 0;
    list.replaceChildren(...shown.map(row), rest);
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
    options.push(option);
    keys.add(option.key);
    search.value = "";
    look();
    const box = /** @type {HTMLInputElement} */ (list.querySelector("label:last-of-type > input"));
    box.dispatchEvent(new Event("change", { bubbles: true })); // the form hears of it
    box.focus();
  };
  const rest = h("p", { class: "help", role: "status" });
  const list = h("div", { class: "checks" });
  look();
  return {
    element: h(
      "div",
      { class: "picker", role: "group", tabindex: "-1" },
      (options.length > SEARCHED || create) && search,
      list,
      act && button(act, made, { icon: "plus" }),
    ),
    get: () => options.filter(({ key }) => keys.has(key)).map(({ key }) => key),
    set: (others) => {
      keys.clear();
      for (const key of others) keys.add(key);
      look();
    },
  };
}
