// @ts-check
/** Who is signed in: sessions can be ended, and users banned. */
import { badge, badges, button, h, link } from "../core/dom.js";
import * as session from "../core/session.js";
import { ban } from "../parts/bans.js";
import { ask, tell } from "../parts/dialog.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { S } from "../strings.js";

const T = S.online;

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.title(
    T.title,
    button(S.action.reload, () => list.reload(), { icon: "refresh" }),
  );
  const list = listing(page, {
    caption: T.caption,
    columns: [
      {
        title: T.user,
        cell: (one) =>
          badges(
            page.may("GET /api/user/{id}") ? link(`/users/${one.loginId}`, one.userName) : one.userName,
            own(one) && badge(T.you, "info"),
          ),
      },
      { title: T.device, cell: (one) => one.device },
      { title: T.browser, cell: (one) => [one.browser, one.os].filter(Boolean).join(", ") },
      { title: T.address, cell: (one) => one.loginIp },
      { title: T.login, cell: (one) => time(one.loginTime, { ago: true }) },
    ],
    filters: [
      { name: "userName", label: T.user },
      { name: "device", label: T.device },
      { name: "loginIp", label: T.address },
    ],
    load: async (query) => (await page.call("GET", "/api/online/list", { query })).data,
    buttons: (one) => [
      page.may("DELETE /api/online/{loginId}/{device}") &&
        button(T.end, () => end(one), { "aria-label": `${T.end}: ${one.userName}, ${one.device}` }),
      page.may("DELETE /api/online/{loginId}") &&
        button(T.endAll, () => endAll(one), { "aria-label": `${T.endAll}: ${one.userName}` }),
      page.may("POST /api/online/{loginId}/ban") &&
        !own(one) &&
        button(T.ban, () => keepOut(one), { kind: "quiet", "aria-label": `${T.ban}: ${one.userName}` }),
    ],
    empty: h("p", { class: "empty" }, T.none),
  });
  page.put(list);

  /** @param {import("../types/api").OnlineUser} one */
  function own({ loginId }) {
    return String(loginId) === String(page.me.id);
  }

  /** @param {import("../types/api").OnlineUser} one */
  async function end(one) {
    const { loginId, device, userName } = one;
    const path = { loginId, device };
    if (
      !(await ask({
        title: T.endTitle(userName, device),
        text: T.endText,
        confirm: T.endConfirm,
        danger: true,
        act: () => page.call("DELETE", "/api/online/{loginId}/{device}", { path }),
      }))
    )
      return;
    if (own(one) && device === session.device()) return session.end();
    tell(T.ended);
    await list.reload();
  }

  /** @param {import("../types/api").OnlineUser} one */
  async function endAll(one) {
    const path = { loginId: one.loginId };
    let ended = 0;
    const act = async () => {
      ({
        data: { ended },
      } = await page.call("DELETE", "/api/online/{loginId}", { path }));
    };
    if (
      !(await ask({
        title: T.allTitle(one.userName),
        text: T.allText,
        confirm: T.allConfirm,
        danger: true,
        act,
      }))
    )
      return;
    if (own(one)) return session.end();
    tell(T.allEnded(ended));
    await list.reload();
  }

  /** @param {import("../types/api").OnlineUser} one */
  async function keepOut({ loginId, userName }) {
    if (await ban(page, loginId, userName)) await list.reload();
  }
}
