// @ts-check
/** The operation log: filters, pages, and following it as it grows. */
import { badge, h } from "../core/dom.js";
import { following } from "../parts/live.js";
import { outcome } from "../parts/logs.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { exporting } from "../parts/transfer.js";
import { S } from "../strings.js";

const T = S.operations;

/** @param {import("../core/router.js").Page} page */
export async function show(page) {
  const live = following(page, async (query) => (await page.call("GET", "/api/operation-log/list", { query })).data, () => list.reload());
  const list = listing(page, {
    caption: T.caption,
    columns: [
      { title: T.time, cell: (one) => time(one.createTime) },
      { title: T.user, cell: (one) => one.userName ?? T.nobody },
      { title: T.what, cell: (one) => h("span", null, `${one.module} ${one.action}`, h("small", { class: "under" }, `${one.method} ${one.url}`)) },
      { title: T.targets, cell: (one) => one.targets?.slice(0, 3).join(", ") },
      { title: T.outcome, cell: outcome },
      { title: T.changes, kind: "number", cell: (one) => one.changeCount },
      { title: T.decision, cell: (one) => one.decision && badge(T.decisions[one.decision] ?? one.decision, one.decision === "deny" ? "bad" : "good") },
    ],
    filters: [
      { name: "userName", label: T.user },
      { name: "target", label: T.target },
      { name: "module", label: T.module, more: true },
      { name: "kind", label: T.kind, type: "select", options: Object.entries(T.kinds) },
      { name: "status", label: T.outcome, type: "select", options: Object.entries(T.statuses) },
      { name: "decision", label: T.decision, type: "select", options: Object.entries(T.decisions) },
      { name: "clientIp", label: T.address, more: true },
      { name: "requestId", label: T.request, more: true },
      { name: "traceId", label: T.trace, more: true },
      { name: "from", label: T.from, type: "date", more: true },
      { name: "to", label: T.to, type: "date", more: true },
    ],
    load: live.read,
    row: (one) => (page.may("GET /api/operation-log/{id}") ? `/logs/operations/${one.id}` : null),
    empty: T.none,
  });
  page.title(T.title, live.toggle, page.may("GET /api/operation-log/export") && exporting(page, "/api/operation-log/export", "operation-log", { filters: live.filters, text: T.exportText }));
  page.put(list);
}
