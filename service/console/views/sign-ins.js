// @ts-check
/** The caller's own part of the login log. */
import { sessionEvents } from "../parts/logs.js";
import { listing } from "../parts/table.js";
import { LOGINS as T } from "../strings/account.js";

/** @param {Page} page */
export async function show(page) {
  page.title(T.title);
  page.put(
    listing(page, {
      caption: T.caption,
      columns: sessionEvents(page),
      filters: [
        { name: "event", label: T.event, type: "select", options: Object.entries(T.events) },
        { name: "outcome", label: T.outcome, type: "select", options: Object.entries(T.outcomes) },
        { name: "device", label: T.device },
        { name: "from", label: T.from, type: "date" },
        { name: "to", label: T.to, type: "date" },
      ],
      load: async (query) => (await page.call("GET", "/api/user/profile/login-logs", { query })).data,
      empty: T.none,
    }),
  );
}
