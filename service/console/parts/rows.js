// @ts-check
/** Short tables whose rows are all known. */
import { h } from "../core/dom.js";
import { leading } from "./row-links.js";

/**
 * Return a table; the first cell of each row names it.
 * @param {string} caption
 * @param {string[]} titles An empty title is that of a column with buttons.
 * @param {import("../core/dom.js").Child[][]} rows
 * @param {string} [kind] A class of it.
 */
export function table(caption, titles, rows, kind = "") {
  return h(
    "div",
    { class: "listing" },
    h(
      "div",
      { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
      h(
        "table",
        { class: `table ${kind}`.trim() },
        h("caption", { class: "hidden" }, caption),
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            titles.map((title) => (title ? h("th", { scope: "col" }, title) : h("td"))),
          ),
        ),
        leading(
          h(
            "tbody",
            null,
            rows.map((cells) =>
              h(
                "tr",
                null,
                cells.map((cell, place) =>
                  h(
                    place ? "td" : "th",
                    {
                      class: titles[place] ? null : "row-actions",
                      "data-label": titles[place] || null,
                      scope: place ? null : "row",
                    },
                    cell,
                  ),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}
