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
    const fits = place.scrollWidth <= place.clientWidth;
    place.classList.toggle("fits", fits); // then the head of a table stays in sight while the page scrolls
    if (fits) place.removeAttribute("tabindex");
    else place.tabIndex = 0;
  }).observe(place);
  return place;
}
