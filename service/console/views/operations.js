// @ts-check
/** The operation log: filters, pages, and following it as it grows. Previews are hidden, and counted. */
import { h, link } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { OPERATION } from "../parts/columns.js";
import { following } from "../parts/live.js";
import { operationColumns, withChanges } from "../parts/logs.js";
import { revertButton } from "../parts/revert.js";
import { listing } from "../parts/table.js";
import { exporting, limitsOf } from "../parts/transfer.js";
import { OPERATIONS as T } from "../strings/operations.js";
import { TABLE } from "../strings/table.js";

/** @param {Page} page */
export async function show(page) {
  /** @type {import("../parts/table.js").Filter[]} */
  const filters = [
    { name: "userName", label: T.user },
    { name: "target", label: T.target },
    { name: "module", label: T.module, more: true },
    { name: "kind", label: T.kind, type: "select", options: Object.entries(T.kinds) },
    { name: "status", label: T.outcome, type: "select", options: Object.entries(T.statuses) },
    { name: "decision", label: T.decision, type: "select", options: Object.entries(T.decisions) },
    { name: "dryRun", label: T.previews, type: "select", options: Object.entries(T.shown), unset: T.hidden },
    { name: "rights", label: T.rights, type: "check" },
    { name: "clientIp", label: T.address, more: true },
    { name: "requestId", label: T.request, more: true },
    { name: "traceId", label: T.trace, more: true },
    { name: "from", label: T.from, type: "date", more: true },
    { name: "to", label: T.to, type: "date", more: true },
  ];
  const ask = async (/** @type {Record<string, any>} */ query) =>
    (await page.call("GET", "/api/operation-log/list", { query: sent(query) })).data;
  const live = following(page, ask, () => list.reload());
  const previews = leftOut(page, ask);
  const list = listing(page, {
    caption: T.caption,
    columns: operationColumns(page),
    filters,
    load: async (query) => {
      const data = await live.read(query);
      previews.tell(live.filters());
      return withChanges(page, data);
    },
    buttons: (entry) => revertButton(page, entry),
    row: (entry) => (page.may("GET /api/operation-log/{id}") ? `/logs/operations/${entry.id}` : null),
    empty: T.none,
    file: false,
  });
  page.title(
    T.title,
    live.toggle,
    page.may("GET /api/operation-log/export") &&
      exporting(page, "/api/operation-log/export", "operation-log", {
        text: T.exportText,
        columns: Object.keys(OPERATION),
        filters: () => sent(live.filters()),
        limits: () => limitsOf(page, filters),
        count: () => ask({ ...live.filters(), size: 1 }),
      }),
  );
  page.put(list, previews.line);
}

/**
 * True if the list leaves out previews: unless they are asked for, or the refusals, or a single request.
 * @param {Record<string, any>} filters
 */
function hides({ dryRun, decision, requestId, traceId }) {
  return !(dryRun || decision === "deny" || requestId || traceId);
}

/** Return the query of the list with these filters. @param {Record<string, any>} filters */
function sent(filters) {
  const { dryRun, ...others } = filters;
  if (hides(filters)) return { ...others, dryRun: "false" };
  return dryRun === "true" ? filters : others;
}

/**
 * Return a line, and `tell`, which has it say how many previews the list with these filters leaves out, and how many of
 * them were refused.
 * @param {Page} page
 * @param {(query: Record<string, any>) => Promise<any>} ask
 */
function leftOut(page, ask) {
  const line = h("p", { role: "status", hidden: true });
  let turn = 0;

  /** @param {Record<string, any>} query */
  async function counted(query) {
    const { total, totalIsExact } = await ask({ ...query, dryRun: "true", size: 1 });
    return { total, text: totalIsExact ? shownNumber(total) : TABLE.atLeast({ total }) };
  }

  /** @param {Record<string, any>} filters */
  async function previewsText(filters) {
    if (!hides(filters)) return "";
    try {
      const all = await counted(filters);
      return all.total > 0 ? T.hiddenPreviews(all, await counted({ ...filters, decision: "deny" })) : "";
    } catch {
      return T.somePreviews; // the list says what is wrong
    }
  }

  return {
    line,
    tell: async (/** @type {Record<string, any>} */ filters) => {
      const mine = ++turn;
      const text = await previewsText(filters);
      if (mine !== turn || page.signal.aborted) return;
      const shown = new URLSearchParams(page.query);
      for (const name of ["page", "cursor"]) shown.delete(name);
      shown.set("dryRun", "all");
      line.replaceChildren(text, " ", link(`/logs/operations?${shown}`, T.show));
      line.hidden = text === "";
    },
  };
}
