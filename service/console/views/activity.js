// @ts-check
/** Sign-ins and refusals by hour. */
import { button, card, h } from "../core/dom.js";
import { activity } from "../pictures/activity.js";
import { ACTION } from "../strings/common.js";
import { ACTIVITY as T } from "../strings/pictures.js";

/** @param {Page} page */
export async function show(page) {
  const hours = Object.keys(T.spans).find((value) => value === page.query.get("hours")) ?? "24";
  page.title(
    T.title,
    button(ACTION.reload, () => page.reload(), { icon: "refresh" }),
  );
  page.put(
    h("p", null, T.text),
    h(
      "label",
      { class: "filter" },
      h("span", null, T.span),
      h(
        "select",
        {
          name: "hours",
          value: hours,
          onchange: (/** @type {Event} */ event) =>
            page.setQuery({ hours: /** @type {HTMLSelectElement} */ (event.target).value }),
        },
        Object.entries(T.spans).map(([value, text]) => h("option", { value }, text)),
      ),
    ),
    card("", activity(page, Number(hours))),
  );
}
