// @ts-check
/** Invites a user who has no password yet: by mail, or by a link to hand over. */
import { button, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { USERS as T } from "../strings/users.js";
import { dialog, tell } from "./dialog.js";
import { attempt } from "./preview.js";
import { time } from "./time.js";

/**
 * Send an invitation; the one before ends. Shows its link until the reader closes it, where no mail was sent.
 * @param {import("../core/page.js").Page} page
 * @param {{id: number, userName: string}} user
 */
export function invite(page, user) {
  return attempt(T.inviteTitle(user.userName), async () => {
    const { data } = await page.call("POST", "/api/user/{id}/invitation", { path: { id: user.id } });
    if (!data.url) return tell(T.inviteMailed(user.userName));
    const link = h("code", { class: "wrap" }, new URL(data.url, location.href).href);
    const copy = button(ACTION.copy, async () => {
      try {
        await navigator.clipboard.writeText(link.textContent ?? "");
        copy.textContent = ACTION.copied;
      } catch {
        getSelection()?.selectAllChildren(link); // without a secure context, the reader copies
      }
    });
    const box = dialog(
      T.inviteTitle(user.userName),
      h("p", null, T.inviteLink),
      h("p", null, link),
      h("p", { class: "help" }, T.inviteUntil, " ", time(data.expiresAt)),
      h(
        "div",
        { class: "buttons" },
        copy,
        button(ACTION.close, () => box.close(), { kind: "primary" }),
      ),
    );
    await box.closed;
  });
}
