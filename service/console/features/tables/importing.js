// @ts-check
/** Imports of tables of records: a dry run first, whose faults are corrected in place or in a file. */
import { actions, badge, button, h, icon } from "../../core/dom.js";
import { Problem } from "../../client/portcullis.js";
import { csv } from "../../parts/csv.js";
import { tell } from "../../parts/dialog.js";
import { table } from "../../parts/rows.js";
import { TYPES, save, templateOf } from "../../parts/transfer.js";
import { requested, trouble } from "../../parts/trouble.js";
import { Sheet, meant } from "./sheet.js";
import { IMPORT as T } from "./strings.js";
import { enumerated } from "../../strings/common.js";

/** @typedef {NonNullable<ReturnType<Sheet["placeOf"]>>} Place */
/** @typedef {{row?: number | null, field: string, message: string, params?: any, required?: string[]}} Fault */

/**
 * Return what imports a table: a file is chosen, tried, shown row by row, and saved when the reader agrees.
 * @param {Page} page
 * @param {object} what
 * @param {string} what.template Such as `/api/user/import`.
 * @param {import("../../core/dom.js").Child} what.help What the table may have.
 * @param {Record<string, string>} what.example The columns, each with an example.
 * @param {() => Promise<Record<string, readonly string[]>>} what.values Reads the values that some columns may have.
 * @param {string} what.back Where to go when it is saved.
 */
export function importing(page, { template, help, example, values, back }) {
  const result = h("div", { class: "body", "aria-live": "polite" });
  /** @type {Sheet | null} */ let sheet = null;
  let corrected = false;
  /** @type {Record<string, readonly string[]> | null} */ let known = null;
  const chosen = h("input", {
    type: "file",
    id: "table",
    accept: [".tsv", ".txt", ...Object.entries(TYPES).map(([ending, type]) => `.${ending},${type}`)].join(),
    onchange: async () => {
      const file = chosen.files?.[0];
      if (!file) return;
      corrected = false;
      sheet = await Sheet.of(file);
      await tried();
    },
  });
  /** @param {boolean} dryRun */
  const sent = (dryRun) => {
    const file = /** @type {File} */ (chosen.files?.[0]);
    const type = TYPES[file.name.split(".").pop()?.toLowerCase() ?? ""] ?? TYPES.csv;
    return page.call("POST", template, { body: corrected && sheet ? sheet.text() : file, type, dryRun });
  };
  const attempt = async (/** @type {() => Promise<any>} */ work) => {
    try {
      await work();
    } catch (problem) {
      if (sheet) known ??= await values().catch(() => ({}));
      result.replaceChildren(refusal(problem));
    }
  };
  const tried = () => {
    result.replaceChildren(h("p", { role: "status" }, T.trying));
    return attempt(async () => result.replaceChildren(report((await sent(true)).data, numbered, saved)));
  };
  const saved = () =>
    attempt(async () => {
      const { data } = await sent(false);
      const { rows, ...counts } = data;
      const without = withoutPassword(rows);
      tell(`${T.saved(counts)} ${without}`);
      page.go(without ? `${back}?invited=true` : back);
    });
  const name = template.split("/")[2];

  /** Return what is wrong with the table, where it can be corrected. @param {unknown} problem */
  function refusal(problem) {
    if (!(problem instanceof Problem) || problem.status !== 422) return trouble(problem, tried);
    const faults = problem.violations.map((fault) => ({ ...fault, at: sheet?.placeOf(fault) ?? null }));
    if (!faults.some(({ row, at }) => row || at)) return trouble(problem, tried);
    const all = problem.document.errorCount ?? faults.length;
    const better = faults.flatMap(({ at }) => {
      const text = betterFor(at);
      return at && text !== null ? [{ ...at, text }] : [];
    });
    const useAll = () => {
      for (const each of better) /** @type {Sheet} */ (sheet).lines[each.line][each.column] = each.text;
      corrected = true;
      return tried();
    };
    const bad = new Set(faults.flatMap(({ at }) => (at && !at.header ? [at.line] : [])));
    return h(
      "div",
      { class: "body" },
      h("p", { class: "note bad", role: "alert" }, icon("warn"), " ", T.faults({ n: all })),
      all > faults.length && h("p", null, T.more({ n: faults.length })),
      table(T.faultsCaption, [T.row, T.field, T.value, T.fault], faults.map(line)),
      h("p", null, sheet ? T.here : T.again),
      actions(
        better.length > 0 && button(T.useAll({ n: better.length }), useAll, { kind: "primary" }),
        sheet && button(T.check, tried, { kind: better.length ? "" : "primary" }),
        bad.size > 0 &&
          button(
            T.badRows({ n: bad.size }),
            () => {
              const text = /** @type {Sheet} */ (sheet).only(bad);
              save(new Blob([text], { type: TYPES.csv }), `${name}-to-correct.csv`);
            },
            { icon: "download" },
          ),
      ),
      requested(problem),
    );
  }

  /** Return what was probably meant at a place; null if nothing is close. @param {Place | null} at */
  function betterFor(at) {
    if (!sheet || !at || at.column < 0) return null;
    const words = at.header ? Object.keys(example) : known?.[sheet.lines[sheet.head][at.column].trim()];
    return words ? meant(sheet.lines[at.line][at.column] ?? "", words) : null;
  }

  /**
   * Return the number of a row as a spreadsheet shows it; a file for programs has no line above its rows.
   * @param {number | null} [row] As the service counts, from the line below the header.
   */
  function numbered(row) {
    const above = sheet ? sheet.head + 1 : Number(/\.xlsx$/i.test(chosen.files?.[0]?.name ?? ""));
    return row ? String(above + row) : "";
  }

  /** @param {Fault & {at: Place | null}} fault */
  function line({ at, row, field, message: text, params, required }) {
    const message = params?.row ? text.replace(String(params.row), numbered(params.row)) : text;
    const codes = required?.length ? [" ", h("code", null, enumerated(required))] : null;
    if (!sheet || !at || at.column < 0)
      return [numbered(row), h("code", null, field), null, [message, codes]];
    const cells = sheet.lines[at.line];
    const input = h("input", {
      value: cells[at.column] ?? "",
      "aria-label": T.correct({ row: at.line + 1, field }),
      oninput: () => set(input.value),
    });
    const set = (/** @type {string} */ text) => {
      cells[at.column] = text;
      corrected = true;
    };
    const better = betterFor(at);
    const take = () => {
      input.value = better ?? "";
      set(input.value);
      input.focus();
    };
    return [
      String(at.line + 1),
      h("code", null, field),
      input,
      h(
        "div",
        null,
        message,
        codes,
        better && [" ", button(T.meant({ text: better }), take, { kind: "chip" })],
      ),
    ];
  }

  return [
    help,
    templateOf(`${name}-import.csv`, csv([Object.keys(example), Object.values(example)]), "text/csv"),
    h("div", { class: "field" }, h("label", { for: "table" }, T.file), chosen),
    result,
  ];
}

/**
 * @param {import("../../types/api").ImportReport} imported
 * @param {(row: number) => string} numbered @param {() => any} saved
 */
function report({ rows, ...counts }, numbered, saved) {
  return h(
    "div",
    { class: "body" },
    h("p", null, T.would(counts), " ", withoutPassword(rows)),
    rows.length > 0 &&
      table(
        T.rowsCaption,
        [T.row, T.name, T.outcome, T.changes],
        rows.map((row) => [
          numbered(row.row),
          row.name,
          badge(T.outcomes[row.outcome], row.outcome === "created" ? "good" : "info"),
          [enumerated(row.changes), row.note && h("p", null, row.note)],
        ]),
      ),
    rows.length > 0 && actions(button(T.save({ n: rows.length }), saved, { kind: "primary" })),
  );
}

/** Return how many new users will have no password yet, and what they need. @param {readonly any[]} rows */
function withoutPassword(rows) {
  const n = rows.filter(({ noteCode }) => noteCode === "created_without_password").length;
  return n ? T.withoutPassword({ n }) : "";
}
