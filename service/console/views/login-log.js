// @ts-check
/** The login log: what happened to sessions and passwords, of all users. */
import { link } from "../core/dom.js";
import { following } from "../parts/live.js";
import { sessionEvents } from "../parts/logs.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { exporting } from "../parts/transfer.js";
import { LOGINS as T } from "../strings/account.js";
import { OPERATIONS } from "../strings/operations.js";

const L = OPERATIONS;

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const live = following(
    page,
    async (query) => (await page.call("GET", "/api/login-log/list", { query })).data,
    () => list.reload(),
  );
  const mayRead = page.may("GET /api/user/{id}");
  const list = listing(page, {
    caption: L.logins,
    columns: [
      { title: T.time, cell: (entry) => time(entry.createTime) },
      {
        title: L.user,
        cell: (entry) =>
          entry.userId !== null && mayRead
            ? link(`/users/${entry.userId}`, entry.userName ?? entry.userId)
            : (entry.userName ?? L.nobody),
      },
      ...sessionEvents(),
    ],
    filters: [
      { name: "userName", label: L.user },
      { name: "event", label: T.event, type: "select", options: Object.entries(T.events) },
      { name: "outcome", label: T.outcome, type: "select", options: Object.entries(T.outcomes) },
      { name: "reason", label: T.reason, more: true },
      { name: "device", label: T.device, more: true },
      { name: "loginIp", label: T.address, more: true },
      { name: "requestId", label: L.request, more: true },
      { name: "traceId", label: L.trace, more: true },
      { name: "from", label: T.from, type: "date", more: true },
      { name: "to", label: T.to, type: "date", more: true },
    ],
    load: live.read,
    empty: T.none,
  });
  page.title(
    L.logins,
    live.toggle,
    page.may("GET /api/login-log/export") &&
      exporting(page, "/api/login-log/export", "login-log", { filters: live.filters, text: L.exportText }),
  );
  page.put(list);
}
