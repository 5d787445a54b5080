// @ts-check
/** Makes pictures in SVG: shapes by attributes and classes, a name for each picture, and a table that says the same. */
import { h } from "../core/dom.js";
import { PICTURES as T } from "../strings/pictures.js";
import { table } from "../parts/rows.js";
import { scrolling } from "../parts/scroll.js";

const SPACE = "http://www.w3.org/2000/svg";
/** The narrowest drawing: below it, texts would not fit, and the reader scrolls. */
const LEAST = 480;

/**
 * Return a shape; attributes without a value are left out, and text becomes text nodes.
 * @param {string} tag
 * @param {Record<string, string | number | null | undefined>} attributes
 * @param {...(Node | string)} children
 */
export function shape(tag, attributes, ...children) {
  const element = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** Return text at a place, cut to so many characters; all of it shows on hover.
 * @param {string} text
 * @param {{x: number, y: number, class?: string, "text-anchor"?: string}} attributes
 * @param {number} [most]
 */
export function label(text, attributes, most = Infinity) {
  if (text.length <= most) return shape("text", attributes, text);
  return shape("text", attributes, `${text.slice(0, most - 1)}…`, shape("title", {}, text));
}

/**
 * Return a picture, and below it, folded, a table with the same.
 * @param {object} config
 * @param {string} config.name What it shows, in a sentence: all that screen readers tell of the shapes.
 * @param {number} config.width
 * @param {number} config.height
 * @param {Node[]} config.shapes
 * @param {string[]} config.titles Those of the table.
 * @param {import("../core/dom.js").Child[][]} config.rows
 */
export function picture({ name, width, height, shapes, titles, rows }) {
  return framed(name, scrolling(name, drawing(name, width, height, shapes)), titles, rows);
}

/**
 * Return a picture that is as wide as its card.
 * @param {object} config Like that of `picture`.
 * @param {string} config.name
 * @param {(width: number) => Node[]} config.draw Returns the shapes.
 * @param {number} config.height
 * @param {string[]} config.titles
 * @param {import("../core/dom.js").Child[][]} config.rows
 */
export function widePicture({ name, draw, height, titles, rows }) {
  const place = scrolling(name);
  let drawn = 0;
  const fit = () => {
    const { paddingInlineStart, paddingInlineEnd } = getComputedStyle(place);
    const room = place.clientWidth - parseFloat(paddingInlineStart) - parseFloat(paddingInlineEnd);
    const width = Math.max(LEAST, Math.floor(room) || 0);
    if (width === drawn) return;
    drawn = width;
    place.replaceChildren(drawing(name, width, height, draw(width)));
  };
  new ResizeObserver(fit).observe(place);
  fit();
  return framed(name, place, titles, rows);
}

/** @param {string} name @param {number} width @param {number} height @param {Node[]} shapes */
function drawing(name, width, height, shapes) {
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return shape("svg", { ...size, role: "img", "aria-label": name, class: "drawing" }, ...shapes);
}

/**
 * @param {string} name @param {HTMLElement} place @param {string[]} titles
 * @param {import("../core/dom.js").Child[][]} rows
 */
function framed(name, place, titles, rows) {
  return h(
    "div",
    { class: "picture" },
    place,
    h("details", null, h("summary", null, T.asTable), table(T.tableOf({ name }), titles, rows)),
  );
}
