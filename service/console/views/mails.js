// @ts-check
/** The outbox: the mails that wait to be sent, and how the last ones ended. */
import { badge, button, h } from "../core/dom.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { ACTION } from "../strings/common.js";
import { MAILS as T } from "../strings/mails.js";

const LOOKS = /** @type {Record<string, string>} */ ({ waiting: "info", given_up: "bad" });

/**
 * @param {Page} page
 * @param {import("../types/view").ShowPart[]} parts Stand below the outbox.
 */
export async function show(page, parts) {
  const below = await Promise.all(parts.map((part) => part(page)));
  page.title(
    T.title,
    button(ACTION.reload, () => list.reload(), { icon: "refresh" }),
  );
  const list = listing(page, {
    caption: T.caption,
    columns: [
      { title: T.created, cell: (mail) => time(mail.createTime) },
      { title: T.kind, cell: (mail) => T.kinds[mail.kind] ?? mail.kind },
      {
        title: T.recipient,
        cell: (mail) => page.linked("user", mail.userId, mail.recipient),
      },
      {
        title: T.state,
        cell: (mail) =>
          LOOKS[mail.state] ? badge(T.states[mail.state], LOOKS[mail.state]) : T.states[mail.state],
      },
      { title: T.attempts, cell: (mail) => mail.attempts },
      { title: T.next, cell: (mail) => mail.state === "waiting" && time(mail.nextTime) },
      { title: T.fault, cell: (mail) => mail.fault },
    ],
    filters: [{ name: "state", label: T.state, type: "select", options: Object.entries(T.states) }],
    load: async (query) => (await page.call("GET", "/api/mail/list", { query })).data,
    empty: h("p", { class: "empty" }, T.none),
  });
  page.put(list, below);
}
