// @ts-check
/** Tables of records: export as a file, import with a dry run whose faults are shown by row. */
import { badge, button, h, icon } from "../core/dom.js";
import { Problem } from "../core/api.js";
import { TRANSFER as T } from "../strings/transfer.js";
import { dialog, tell } from "./dialog.js";
import { requested, trouble } from "./trouble.js";
import { table } from "./rows.js";

const TYPES = /** @type {Record<string, string>} */ ({
  csv: "text/csv",
  json: "application/json",
  jsonl: "application/jsonl",
});

/**
 * Return a button that asks for a format and downloads the table.
 * @param {import("../core/page.js").Page} page
 * @param {string} template Such as `/api/user/export`.
 * @param {string} name The name of the file, without its extension.
 * @param {{filters?: () => Record<string, any>, text?: string}} [limits] What the file is limited to, and what says so.
 */
export function exporting(page, template, name, { filters = () => ({}), text = T.exportText } = {}) {
  return button(
    T.export,
    () => {
      const box = dialog(
        T.exportTitle,
        h("p", null, text),
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
 * @param {string} what.back Where to go when it is saved.
 */
export function importing(page, { template, help, back }) {
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
  return [help, h("div", { class: "field" }, h("label", { for: "table" }, T.file), chosen), result];
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
