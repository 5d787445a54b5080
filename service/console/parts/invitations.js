// @ts-check
/** Invites a user who has no password yet: by mail, or by a link to hand over. */
import { timeText } from "../core/locale.js";
import { USERS as T } from "../strings/users.js";
import { tell } from "./dialog.js";
import { once } from "./once.js";
import { attempt } from "./preview.js";

/**
 * Send an invitation; the one before ends. Shows its link until the reader closes it, where no mail was sent.
 * @param {Page} page
 * @param {{id: number, userName: string}} user
 */
export function invite(page, user) {
  const title = T.inviteTitle({ name: user.userName });
  return attempt(title, async () => {
    const { data } = await page.call("POST", "/api/user/{id}/invitation", { path: { id: user.id } });
    if (!data.url) return tell(T.inviteMailed({ name: user.userName }));
    const until = timeText(data.expiresAt);
    await once(title, T.inviteLink({ until }), new URL(data.url, location.href).href);
  });
}
