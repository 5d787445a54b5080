// @ts-check
/** What has changed between two records: before and after, by member. */
import { h } from "../core/dom.js";
import { CHANGES, enumerated } from "../strings/common.js";

/**
 * Return a table of the members that differ; all of them with `{all: true}`.
 * @param {Record<string, any> | null | undefined} before
 * @param {Record<string, any> | null | undefined} after
 * @param {{all?: boolean, label?: (name: string) => string, text?: (value: any, name: string) => string}} [options]
 */
export function changes(before, after, { all = false, label = (name) => name, text = shown } = {}) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const rows = names
    .map((name) => ({ name, was: before?.[name], is: after?.[name] }))
    .filter(({ was, is }) => all || JSON.stringify(was) !== JSON.stringify(is));
  if (rows.length === 0) return h("p", null, CHANGES.none);
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": CHANGES.member },
    h(
      "table",
      { class: "table changes" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          [CHANGES.member, CHANGES.before, CHANGES.after].map((title) => h("th", { scope: "col" }, title)),
        ),
      ),
      h(
        "tbody",
        null,
        rows.map(({ name, was, is }) =>
          h(
            "tr",
            null,
            h("th", { scope: "row", "data-label": CHANGES.member }, label(name)),
            h(
              "td",
              { "data-label": CHANGES.before },
              was === undefined || was === null ? "–" : h("del", null, text(was, name)),
            ),
            h(
              "td",
              { "data-label": CHANGES.after },
              is === undefined || is === null ? "–" : h("ins", null, text(is, name)),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {any} value */
function shown(value) {
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return enumerated(value) || "[]";
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
}
