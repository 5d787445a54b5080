// @ts-check
/** What has happened to the caller's own account, and from where. */
import { badge, badges, button, h } from "../core/dom.js";
import * as unread from "../core/notices.js";
import { REQUESTS } from "../navigation.js";
import { attempt } from "../parts/preview.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { NOTICES as T, noticeText } from "../strings/notices.js";
import { enumerated } from "../strings/common.js";

/** The views of records that notices are about, by the name of the fact. */
const VIEWS = /** @type {Record<string, string>} */ ({
  request: REQUESTS,
  review: "/reviews",
  revision: "/policy/revisions",
  approval: "/account/approvals",
});

/** The kinds that somebody has caused by asking for a role: `account` says who. */
const ASKED = new Set(["access_request_made", "emergency_given"]);

/** @param {Page} page */
export async function show(page) {
  const read = button(
    T.readAll,
    () =>
      attempt(T.readAll, async () => {
        await page.call("POST", "/api/user/profile/notices/read", { body: {} });
        await list.reload();
      }),
    { icon: "check" },
  );
  page.title(T.title, read);
  const list = listing(page, {
    caption: T.caption,
    columns: [
      {
        title: T.what,
        kind: "whole",
        cell: (notice) =>
          badges(noticeText(notice.kind, notice.facts), notice.readTime === null && badge(T.unread, "info")),
      },
      { title: T.when, cell: (notice) => time(notice.createTime) },
      {
        title: T.where,
        cell: ({ kind, facts, actedBy, clientIp, browser, os }) =>
          (ASKED.has(kind) && facts.account) || (T.by[actedBy] ?? enumerated([clientIp, browser, os])),
      },
    ],
    row: ({ facts }) => {
      const record = Object.keys(VIEWS).find((name) => facts[name]);
      return record ? `${VIEWS[record]}/${facts[record]}` : null;
    },
    load: async (query) => {
      const { data } = await page.call("GET", "/api/user/profile/notices", { query });
      unread.count(data.unread);
      return data;
    },
    empty: T.none,
  });
  page.put(h("p", { class: "help" }, T.about), list);
}
