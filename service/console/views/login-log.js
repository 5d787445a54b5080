// @ts-check
/** The login log: what happened to sessions and passwords, of all users. */
import { LOGIN } from "../parts/columns.js";
import { following } from "../parts/live.js";
import { sessionEvents } from "../parts/logs.js";
import { listing } from "../parts/table.js";
import { exporting, limitsOf } from "../parts/transfer.js";
import { LOGINS as T } from "../strings/account.js";
import { OPERATIONS } from "../strings/operations.js";

const L = OPERATIONS;

/** @param {Page} page */
export async function show(page) {
  /** @type {import("../parts/table.js").Filter[]} */
  const filters = [
    { name: "userName", label: L.user },
    { name: "userId", label: L.userId, more: true },
    { name: "event", label: T.event, type: "select", options: Object.entries(T.events) },
    { name: "outcome", label: T.outcome, type: "select", options: Object.entries(T.outcomes) },
    { name: "reason", label: T.reason, more: true },
    { name: "device", label: T.device, more: true },
    { name: "loginIp", label: T.address, more: true },
    { name: "requestId", label: L.request, more: true },
    { name: "traceId", label: L.trace, more: true },
    { name: "from", label: T.from, type: "date", more: true },
    { name: "to", label: T.to, type: "date", more: true },
  ];
  const ask = async (/** @type {Record<string, any>} */ query) =>
    (await page.call("GET", "/api/login-log/list", { query })).data;
  const live = following(page, ask, () => list.reload());
  const list = listing(page, {
    caption: L.logins,
    columns: sessionEvents(page),
    filters,
    load: live.read,
    empty: T.none,
    file: false,
  });
  page.title(
    L.logins,
    live.toggle,
    page.may("GET /api/login-log/export") &&
      exporting(page, "/api/login-log/export", "login-log", {
        text: L.exportText,
        columns: Object.keys(LOGIN),
        filters: live.filters,
        limits: () => limitsOf(page, filters),
        count: () => ask({ ...live.filters(), size: 1 }),
      }),
  );
  page.put(list);
}
