// @ts-check
/** A box for what may be wider than the page. */
import { h } from "../core/dom.js";

/**
 * Return a region that scrolls by itself, by the keyboard too while there is something to scroll.
 * @param {string} label
 * @param {...import("../core/dom.js").Child} children
 */
export function scrolling(label, ...children) {
  const place = h("div", { class: "scroll", role: "region", "aria-label": label }, children);
  new ResizeObserver(() => {
    if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }).observe(place);
  return place;
}
