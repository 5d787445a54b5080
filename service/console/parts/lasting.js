// @ts-check
/** How long something lasts, as a number of minutes, hours or days: a control for forms. */
import { h } from "../core/dom.js";
import { LASTING as T } from "../strings/form.js";

/** The units, in seconds, from the longest. */
const UNITS = [86_400, 3600, 60, 1];

/**
 * Return a control for a field of the type custom, whose value is a number of seconds, null for none.
 * @param {string} name Of the field.
 * @param {number | null | undefined} seconds
 */
export function lasting(name, seconds) {
  const number = h("input", { type: "number", name, min: "1", step: "1", "aria-label": T.number });
  const unit = h(
    "select",
    { "aria-label": T.unit },
    UNITS.map((size) => h("option", { value: String(size) }, T.units[size])),
  );
  const set = (/** @type {number | null | undefined} */ given) => {
    const size = UNITS.find((candidate) => given && given % candidate === 0) ?? UNITS[0];
    unit.value = String(size);
    number.value = given ? String(given / size) : "";
  };
  set(seconds);
  return {
    element: h("div", { class: "lasting", role: "group", tabindex: "-1" }, number, unit),
    get: () => (number.value === "" ? null : Number(number.value) * Number(unit.value)),
    set,
  };
}
