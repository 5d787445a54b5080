// @ts-check
/** Tables of records: export as a file, import with a dry run whose faults are shown by row. */
import { badge, badges, button, definition, h, icon } from "../core/dom.js";
import { Problem } from "../client/portcullis.js";
import { TABLE } from "../strings/table.js";
import { TRANSFER as T } from "../strings/transfer.js";
import { csv } from "./csv.js";
import { dialog, tell } from "./dialog.js";
import { requested, trouble } from "./trouble.js";
import { table } from "./rows.js";
import { timeText } from "./time.js";

const TYPES = /** @type {Record<string, string>} */ ({
  csv: "text/csv",
  json: "application/json",
  jsonl: "application/jsonl",
});

/**
 * Return a button that says what a file has, asks for a format and downloads it.
 * @param {import("../core/page.js").Page} page
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
          if (total !== null) rows.textContent = totalIsExact ? total.toLocaleString() : TABLE.atLeast(total);
        },
        (problem) => rows.replaceChildren(trouble(problem)),
      );
      const box = dialog(
        T.exportTitle,
        h("p", null, text),
        definition([
          [T.limits, limits && (limits().join(" · ") || T.noLimits)],
          [T.rows, rows],
          [T.columns, badges(columns.map((column) => h("code", null, column)))],
        ]),
        h(
          "div",
          { class: "actions" },
          Object.keys(TYPES).map((format) =>
            button(
              T.formats[format],
              async () => {
                try {
                  const { data } = await page.call("GET", template, {
                    query: { ...filters(), format },
                    raw: true,
                  });
                  save(await data.blob(), `${name}.${format}`);
                  box.close();
                } catch (problem) {
                  box.body.append(trouble(problem));
                }
              },
              { icon: "download" },
            ),
          ),
        ),
      );
    },
    { icon: "download" },
  );
}

/**
 * Return the filters of a list in words, those that hold without a choice too.
 * @param {import("../core/page.js").Page} page @param {import("./table.js").Filter[]} filters
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

/**
 * Return what imports a table: a file is chosen, tried, shown row by row, and saved when the reader agrees.
 * @param {import("../core/page.js").Page} page
 * @param {object} what
 * @param {string} what.template Such as `/api/user/import`.
 * @param {import("../core/dom.js").Child} what.help What the table may have.
 * @param {Record<string, string>} what.example The columns, each with an example.
 * @param {string} what.back Where to go when it is saved.
 */
export function importing(page, { template, help, example, back }) {
  const result = h("div", { "aria-live": "polite" });
  const chosen = h("input", {
    type: "file",
    id: "table",
    accept: ".csv,.json,.jsonl,text/csv,application/json,application/jsonl",
    onchange: () => tried(),
  });
  /** @param {boolean} dryRun */
  const sent = (dryRun) => {
    const file = /** @type {File} */ (chosen.files?.[0]);
    const type = TYPES[file.name.split(".").pop()?.toLowerCase() ?? ""] ?? TYPES.csv;
    return page.call("POST", template, { body: file, type, dryRun });
  };
  const tried = async () => {
    if (!chosen.files?.length) return;
    result.replaceChildren(h("p", { role: "status" }, T.trying));
    try {
      const { data } = await sent(true);
      result.replaceChildren(report(data, saved));
    } catch (problem) {
      result.replaceChildren(refusal(problem, tried));
    }
  };
  const saved = async () => {
    try {
      const { data } = await sent(false);
      tell(T.saved(data.created, data.updated));
      page.go(back);
    } catch (problem) {
      result.replaceChildren(refusal(problem, tried));
    }
  };
  const name = `${template.split("/")[2]}-import.csv`;
  return [
    help,
    templateOf(name, csv([Object.keys(example), Object.values(example)]), "text/csv"),
    h("div", { class: "field" }, h("label", { for: "table" }, T.file), chosen),
    result,
  ];
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

/** @param {import("../types/api").ImportReport} imported @param {() => any} saved */
function report({ created, updated, unchanged, rows }, saved) {
  return h(
    "div",
    null,
    h("p", null, T.would(created, updated, unchanged)),
    rows.length > 0 &&
      table(
        T.rowsCaption,
        [T.row, T.name, T.outcome, T.changes],
        rows.map((row) => [
          String(row.row),
          row.name,
          badge(T.outcomes[row.outcome], row.outcome === "created" ? "good" : "info"),
          [row.changes.join(", "), row.note && h("p", null, row.note)],
        ]),
      ),
    rows.length > 0 &&
      h("div", { class: "actions" }, button(T.save(rows.length), saved, { kind: "primary" })),
  );
}

/** @param {unknown} problem @param {() => any} again */
function refusal(problem, again) {
  if (
    !(problem instanceof Problem) ||
    problem.status !== 422 ||
    !problem.violations.some((violation) => violation.row)
  )
    return trouble(problem, again);
  const all = problem.document.errorCount ?? problem.violations.length;
  return h(
    "div",
    null,
    h("p", { class: "note bad", role: "alert" }, icon("warn"), " ", T.faults(all)),
    all > problem.violations.length && h("p", null, T.more(problem.violations.length)),
    table(
      T.faultsCaption,
      [T.row, T.field, T.fault],
      problem.violations.map((violation) => [
        String(violation.row ?? ""),
        h("code", null, violation.field),
        [violation.message, lacking(violation)],
      ]),
    ),
    h("p", null, T.again),
    requested(problem),
  );
}

/** @param {any} fault */
function lacking({ required }) {
  return required?.length ? [" ", h("code", null, required.join(", "))] : null;
}
