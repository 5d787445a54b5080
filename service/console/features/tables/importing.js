// @ts-check
/** Imports of tables of records: a dry run first, whose faults are shown by row. */
import { badge, button, h, icon } from "../../core/dom.js";
import { Problem } from "../../client/portcullis.js";
import { csv } from "../../parts/csv.js";
import { tell } from "../../parts/dialog.js";
import { table } from "../../parts/rows.js";
import { TYPES, templateOf } from "../../parts/transfer.js";
import { requested, trouble } from "../../parts/trouble.js";
import { IMPORT as T } from "./strings.js";

/**
 * Return what imports a table: a file is chosen, tried, shown row by row, and saved when the reader agrees.
 * @param {import("../../core/page.js").Page} page
 * @param {object} what
 * @param {string} what.template Such as `/api/user/import`.
 * @param {import("../../core/dom.js").Child} what.help What the table may have.
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

/** @param {import("../../types/api").ImportReport} imported @param {() => any} saved */
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
