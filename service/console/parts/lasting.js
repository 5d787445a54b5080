// @ts-check
/** How long something lasts, and until when: controls for forms, with the usual lengths at one click. */
import { button, h } from "../core/dom.js";
import { instantOf, wallTime } from "../core/locale.js";
import { numbered } from "../core/texts.js";
import { LASTING as T } from "../strings/form.js";
import { duration } from "../strings/words.js";

/** The units, in seconds, from the longest. */
const UNITS = [86_400, 3600, 60, 1];

/**
 * Return a control for a field of the type custom, whose value is a number of seconds, null for none.
 * @param {string} name Of the field.
 * @param {number | null | undefined} seconds
 * @param {number} [longest] The most seconds, which the usual lengths do not exceed.
 */
export function lasting(name, seconds, longest) {
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
  const choose = (/** @type {number} */ length) => {
    set(length);
    typed(number);
  };
  return {
    element: h(
      "div",
      { role: "group", tabindex: "-1" },
      h("div", { class: "lasting" }, number, unit),
      chips(lengthsUpTo(longest), choose),
    ),
    get: () => (number.value === "" ? null : Number(number.value) * Number(unit.value)),
    set,
  };
}

/**
 * Return the field of an end, with the usual lengths from the beginning on, up to the longest.
 * @param {HTMLInputElement} input
 * @param {() => number | null | undefined} longest Returns the most seconds; null for no limit.
 */
export function ending(input, longest) {
  const place = h("div");
  const choose = (/** @type {number} */ length) => {
    const begin = /** @type {HTMLInputElement | null} */ (input.form?.elements.namedItem("from"))?.value;
    const end = new Date((begin ? instantOf(begin).getTime() : Date.now()) + length * 1000);
    // Not longer than allowed: the field has no seconds, and the role may begin a minute later.
    input.value = wallTime(end);
    typed(input);
  };
  const show = () => {
    place.replaceChildren(chips(lengthsUpTo(longest()), choose));
  };
  show();
  queueMicrotask(() => input.form?.addEventListener("change", show));
  return h("div", null, input, place);
}

/**
 * Return the usual lengths up to the longest, and that one; null for no limit.
 * @param {number | null | undefined} most
 * @returns {[seconds: number, text: string][]}
 */
function lengthsUpTo(most) {
  const usual = numbered(T.lengths).filter(([length]) => !most || length < most);
  return most ? [...usual, [most, T.longest({ length: duration(most) })]] : usual;
}

/** @param {[seconds: number, text: string][]} lengths @param {(seconds: number) => void} choose */
function chips(lengths, choose) {
  return h(
    "div",
    { class: "chips", role: "group", "aria-label": T.usual },
    lengths.map(([seconds, text]) => button(text, () => choose(seconds), { kind: "chip" })),
  );
}

/** Have a form know that a control has another value. @param {HTMLElement} control */
function typed(control) {
  control.dispatchEvent(new Event("input", { bubbles: true }));
}
