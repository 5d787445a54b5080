// @ts-check
/** Tables of records as files: exports, and templates of what can be imported. */
import { actions, badges, button, definition, h } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { TABLE } from "../strings/table.js";
import { TRANSFER as T } from "../strings/transfer.js";
import { dialog } from "./dialog.js";
import { trouble } from "./trouble.js";
import { timeText } from "./time.js";

/** The content types of files, by their extensions. */
export const TYPES = /** @type {Record<string, string>} */ ({
  csv: "text/csv",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  json: "application/json",
  jsonl: "application/jsonl",
});

/**
 * Return a button that says what a file has, asks for a format and downloads it.
 * @param {Page} page
 * @param {string} template Such as `/api/user/export`.
 * @param {string} name The name of the file, without its extension.
 * @param {object} contents
 * @param {string} contents.text
 * @param {string[]} contents.columns
 * @param {() => Promise<{total: number | null, totalIsExact?: boolean}>} contents.count Reads a page of what the file
 *   will have.
 * @param {() => Record<string, any>} [contents.filters] What the request is limited to.
 * @param {() => string[]} [contents.limits] The same in words.
 */
export function exporting(page, template, name, { text, columns, count, filters = () => ({}), limits }) {
  return button(
    T.export,
    () => {
      const rows = h("span", { role: "status" });
      count().then(
        ({ total, totalIsExact = true }) => {
          if (total !== null) rows.textContent = totalIsExact ? shownNumber(total) : TABLE.atLeast({ total });
        },
        (problem) => rows.replaceChildren(trouble(problem)),
      );
      const about = [
        h("p", null, text),
        definition([
          [T.limits, limits && (limits().join(" · ") || T.noLimits)],
          [T.rows, rows],
          [T.columns, badges(columns.map((column) => h("code", null, column)))],
        ]),
      ];
      formats(name, Object.keys(TYPES), about, async (format) => {
        const query = { ...filters(), format, ...(format === "csv" && { bom: true }) };
        return (await page.call("GET", template, { query, raw: true })).data.blob();
      });
    },
    { icon: "download" },
  );
}

/**
 * Let the reader choose a format, and save a file in it.
 * @param {string} name The name of the file, without its extension.
 * @param {string[]} extensions Those of the formats.
 * @param {import("../core/dom.js").Child} about What the file has.
 * @param {(format: string) => Promise<Blob>} made
 */
export function formats(name, extensions, about, made) {
  const act = async (/** @type {string} */ format) => {
    try {
      save(await made(format), `${name}.${format}`);
      box.close();
    } catch (problem) {
      box.body.append(trouble(problem));
    }
  };
  const buttons = extensions.map((each) => button(T.formats[each], () => act(each), { icon: "download" }));
  const box = dialog(T.exportTitle, about, actions(buttons));
}

/**
 * Return the filters of a list in words, those that hold without a choice too.
 * @param {Page} page @param {import("./filters.js").Filter[]} filters
 */
export function limitsOf(page, filters) {
  return filters.flatMap(({ name, label, type, options = [], unset }) => {
    const value = page.query.get(name);
    if (!value) return unset ? `${label}: ${unset}` : [];
    const chosen = options.find((option) => Array.isArray(option) && option[0] === value)?.[1];
    return type === "check" ? label : `${label}: ${chosen ?? (type === "date" ? timeText(value) : value)}`;
  });
}

/** Let the reader save a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Return a button that saves a file to begin with. @param {string} name @param {string} text @param {string} type */
export function templateOf(name, text, type) {
  return h(
    "p",
    null,
    button(T.template, () => save(new Blob([text], { type }), name), { icon: "download" }),
    " ",
    h("span", { class: "help" }, T.templateHelp),
  );
}
