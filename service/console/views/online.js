// @ts-check
/** Who is signed in: sessions can be ended, and users banned. */
import { badge, badges, button, h } from "../core/dom.js";
import { session } from "../core/session.js";
import { ban } from "../parts/bans.js";
import { ask, tell } from "../parts/dialog.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { ACTION, enumerated } from "../strings/common.js";
import { ONLINE as T } from "../strings/users.js";

/** @param {Page} page */
export async function show(page) {
  page.title(
    T.title,
    button(ACTION.reload, () => list.reload(), { icon: "refresh" }),
  );
  const list = listing(page, {
    caption: T.caption,
    columns: [
      {
        title: T.user,
        cell: (login) =>
          badges(page.linked("user", login.loginId, login.userName), own(login) && badge(T.you, "info")),
      },
      { title: T.device, cell: (login) => login.device },
      { title: T.browser, cell: (login) => enumerated([login.browser, login.os]) },
      { title: T.address, cell: (login) => login.loginIp },
      { title: T.login, cell: (login) => time(login.loginTime, { ago: true }) },
    ],
    filters: [
      { name: "userName", label: T.user },
      { name: "device", label: T.device },
      { name: "loginIp", label: T.address },
    ],
    load: async (query) => (await page.call("GET", "/api/online/list", { query })).data,
    buttons: (login) => [
      page.may("DELETE /api/online/{loginId}/{device}") &&
        button(T.end, () => end(login), { "aria-label": `${T.end}: ${login.userName}, ${login.device}` }),
      page.may("DELETE /api/online/{loginId}") &&
        button(T.endAll, () => endAll(login), { "aria-label": `${T.endAll}: ${login.userName}` }),
      page.may("POST /api/online/{loginId}/ban") &&
        !own(login) &&
        button(T.ban, () => keepOut(login), { kind: "quiet", "aria-label": `${T.ban}: ${login.userName}` }),
    ],
    empty: h("p", { class: "empty" }, T.none),
  });
  page.put(list);

  /** @param {import("../types/api").OnlineUser} login */
  function own({ loginId }) {
    return String(loginId) === String(page.me.id);
  }

  /** @param {import("../types/api").OnlineUser} login */
  async function end(login) {
    const { loginId, device, userName } = login;
    const path = { loginId, device };
    if (
      !(await ask({
        title: T.endTitle({ name: userName, device }),
        text: T.endText,
        confirm: T.endConfirm,
        danger: true,
        act: () => page.call("DELETE", "/api/online/{loginId}/{device}", { path }),
      }))
    )
      return;
    if (own(login) && device === session.device()) return session.end();
    tell(T.ended({ name: userName, device }));
    await list.reload();
  }

  /** @param {import("../types/api").OnlineUser} login */
  async function endAll(login) {
    const path = { loginId: login.loginId };
    let ended = 0;
    const act = async () => {
      ({
        data: { ended },
      } = await page.call("DELETE", "/api/online/{loginId}", { path }));
    };
    if (
      !(await ask({
        title: T.allTitle({ name: login.userName }),
        text: T.allText,
        confirm: T.allConfirm,
        danger: true,
        act,
      }))
    )
      return;
    if (own(login)) return session.end();
    tell(T.allEnded({ name: login.userName, n: ended }));
    await list.reload();
  }

  /** @param {import("../types/api").OnlineUser} login */
  async function keepOut({ loginId, userName }) {
    if (await ban(page, loginId, userName)) await list.reload();
  }
}
