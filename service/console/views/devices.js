// @ts-check
/** The caller's own device sessions: each can be ended, and all of them at once. */
import { badge, badges, button, h } from "../core/dom.js";
import { session } from "../core/session.js";
import { ask, tell } from "../parts/dialog.js";
import { whole } from "../parts/local.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { DEVICES as T } from "../strings/account.js";
import { enumerated } from "../strings/common.js";

/** @param {Page} page */
export async function show(page) {
  page.title(T.title, button(T.all, everywhere, { icon: "log-out" }));
  const list = listing(page, {
    caption: T.caption,
    columns: [
      { title: T.device, cell: (login) => badges(login.device, login.current && badge(T.current, "info")) },
      { title: T.browser, cell: (login) => enumerated([login.browser, login.os]) },
      { title: T.address, cell: (login) => login.loginIp },
      { title: T.login, cell: (login) => time(login.loginTime, { ago: true }) },
      { title: T.refresh, cell: (login) => time(login.lastRefreshTime, { ago: true }) },
    ],
    load: async () => whole((await page.call("GET", "/api/auth/sessions")).data),
    buttons: (login) =>
      button(T.end, () => end(login), {
        "aria-label": `${T.end}: ${login.device}`,
        "data-key": login.device,
      }),
    empty: h("p", { class: "empty" }, T.none),
  });
  page.put(list);

  /** @param {any} login */
  async function end({ device, current }) {
    const ended = await ask({
      title: T.endTitle({ device }),
      text: current ? T.endOwnText : T.endText,
      confirm: T.endSession,
      danger: true,
      act: () => page.call("DELETE", "/api/auth/sessions/{device}", { path: { device } }),
    });
    if (!ended) return;
    if (current) return session.end();
    tell(T.ended({ device }));
    await list.reload();
  }
}

/** Ask, and sign out of all devices. */
function everywhere() {
  return ask({
    title: T.allTitle,
    text: T.allText,
    confirm: T.all,
    danger: true,
    act: () => session.signOut(true),
  });
}
