// @ts-check
/** The caller's own part of the login log. */
import { badge } from "../core/dom.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { S } from "../strings.js";

const T = S.logins;

/** @param {import("../core/router.js").Page} page */
export async function show(page) {
  page.title(T.title);
  page.put(listing({
    caption: T.caption,
    columns: [
      { title: T.time, cell: (one) => time(one.createTime) },
      { title: T.event, cell: (one) => T.events[one.event] ?? one.event },
      { title: T.outcome, cell: (one) => badge(T.outcomes[one.outcome] ?? one.outcome, one.outcome === "success" ? "good" : "bad") },
      { title: T.reason, cell: (one) => one.reason },
      { title: T.device, cell: (one) => one.device },
      { title: T.address, cell: (one) => one.loginIp },
      { title: T.browser, cell: (one) => [one.browser, one.os].filter(Boolean).join(", ") },
    ],
    filters: [
      { name: "event", label: T.event, type: "select", options: Object.entries(T.events) },
      { name: "outcome", label: T.outcome, type: "select", options: Object.entries(T.outcomes) },
      { name: "device", label: T.device },
      { name: "from", label: T.from, type: "date" },
      { name: "to", label: T.to, type: "date" },
    ],
    load: async (query) => (await page.call("GET", "/api/user/profile/login-logs", { query })).data,
    empty: T.none,
  }));
}
