// @ts-check
/** The filters of a list: those of the address of its view. */
import { button, h } from "../core/dom.js";
import { instantOf, wallTime } from "../core/locale.js";
import { ACTION } from "../strings/common.js";
import { TABLE } from "../strings/table.js";

/**
 * @typedef {object} Filter
 * @property {string} name
 * @property {string} label
 * @property {string} [type] Text, select, whether (yes or no), date or check.
 * @property {[yes: string, no: string]} [words] The answers of `whether`.
 * @property {(string | [string, string])[]} [options]
 * @property {string} [unset] What a select without a choice means.
 * @property {string} [value]
 * @property {boolean} [more] Whether it is folded away while no such filter is set.
 */
/** @typedef {(changes: Record<string, any>) => Promise<void>} Set Puts filters in the address, and reads the list. */

/** True if the address has one of some filters. @param {Page} page @param {Filter[]} filters */
export function filtered(page, filters) {
  return filters.some(({ name }) => page.query.has(name));
}

/**
 * Return the form of the filters, and `settle`, which offers to clear them while there are some.
 * @param {Page} page
 * @param {string} caption
 * @param {Filter[]} filters
 * @param {Set} set
 */
export function filtering(page, caption, filters, set) {
  const controls = filters.map((filter) => control(page, filter, set));
  const clear = button(
    ACTION.reset,
    () => {
      for (const { input } of controls) {
        if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = false;
        else input.value = "";
      }
      controls[0].input.focus();
      return set(Object.fromEntries(filters.map(({ name }) => [name, null])));
    },
    { kind: "quiet", hidden: !filtered(page, filters) },
  );
  const labels = (/** @type {boolean} */ more) =>
    controls.filter((_, place) => Boolean(filters[place].more) === more).map(({ label }) => label);
  const opened = filters.some((filter) => filter.more && page.query.has(filter.name));
  const narrow = matchMedia("(width < 40rem)").matches && !filtered(page, filters);
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    set({});
  };
  const element = h(
    "details",
    { class: "narrowing", open: !narrow },
    h("summary", null, TABLE.filters),
    h(
      "form",
      { class: "filters", role: "search", "aria-label": caption, onsubmit },
      labels(false),
      labels(true).length > 0 &&
        h(
          "details",
          { class: "more", open: opened },
          h("summary", null, TABLE.more),
          h("div", { class: "filters" }, labels(true)),
        ),
      clear,
    ),
  );
  const settle = () => {
    clear.hidden = !filtered(page, filters);
  };
  return { element, settle };
}

/**
 * Return the control of a filter with its label.
 * @param {Page} page @param {Filter} filter @param {Set} set
 */
function control(page, { name, label, type, words = [TABLE.yes, TABLE.no], options = [], unset }, set) {
  const value = page.query.get(name) ?? "";
  let timer = 0;
  let read = () => input.value.trim();
  const apply = () => {
    clearTimeout(timer);
    // Leaving a field whose value is applied already would take the focus from the rows.
    if (read() !== (page.query.get(name) ?? "")) set({ [name]: read() });
  };
  const common = { name, onchange: apply };
  if (type === "check") {
    const box = h("input", { type: "checkbox", ...common, checked: value === "true" });
    read = () => (box.checked ? "true" : "");
    return { input: box, label: h("label", { class: "filter check" }, box, " ", label) };
  }
  const among =
    type === "whether"
      ? [
          ["true", words[0]],
          ["false", words[1]],
        ]
      : options;
  /** @type {HTMLInputElement | HTMLSelectElement} */ const input =
    type === "select" || type === "whether"
      ? h(
          "select",
          { ...common, value },
          h("option", { value: "" }, unset ?? TABLE.all),
          among.map((option) => {
            const [key, text] = Array.isArray(option) ? option : [option, option];
            return h("option", { value: key }, text);
          }),
        )
      : type === "date"
        ? h("input", { type: "datetime-local", ...common, value: localTime(value) })
        : h("input", {
            type: "search",
            ...common,
            value,
            autocomplete: "off",
            oninput: () => {
              clearTimeout(timer);
              timer = setTimeout(apply, 350);
            },
          });
  if (type === "date") read = () => (input.value ? instantOf(input.value).toISOString() : "");
  return { input, label: h("label", { class: "filter" }, h("span", null, label), input) };
}

/** @param {string} iso */
function localTime(iso) {
  const date = new Date(iso);
  if (!iso || Number.isNaN(date.getTime())) return "";
  return wallTime(date);
}
