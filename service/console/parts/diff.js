// @ts-check
/** What has changed between two records: before and after, by member. */
import { h } from "../core/dom.js";
import { CHANGES, enumerated } from "../strings/common.js";
import { table } from "./rows.js";

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
  const cell = (/** @type {any} */ value, /** @type {"del" | "ins"} */ tag, /** @type {string} */ name) =>
    value === undefined || value === null ? "–" : h(tag, null, text(value, name));
  return table(
    CHANGES.member,
    [CHANGES.member, CHANGES.before, CHANGES.after],
    rows.map(({ name, was, is }) => [label(name), cell(was, "del", name), cell(is, "ins", name)]),
    "changes",
  );
}

/** @param {any} value */
function shown(value) {
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return enumerated(value) || "[]";
  return typeof value === "object" ? JSON.stringify(value, null, 1) : String(value);
}
