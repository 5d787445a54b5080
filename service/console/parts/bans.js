// @ts-check
/** Keeps a user out for a time. */
import { numbered } from "../core/texts.js";
import { BANS as T } from "../strings/users.js";
import { ask, tell } from "./dialog.js";
import { undoing } from "./preview.js";

const BAN = "/api/online/{loginId}/ban";
const DAY = 86_400; // seconds

/**
 * Ask for how long and why, and ban a user; returns whether it was done.
 * @param {Page} page
 * @param {number | string} loginId
 * @param {string} name
 */
export async function ban(page, loginId, name) {
  const path = { loginId };
  const done = await ask({
    title: T.title({ name }),
    text: T.text,
    confirm: T.confirm,
    danger: true,
    extra: [
      {
        name: "seconds",
        label: T.lasts,
        type: "select",
        required: true,
        value: DAY,
        options: numbered(T.times),
      },
      { name: "reason", label: T.reason, help: T.reasonHelp, most: 200 },
    ],
    act: ({ seconds, reason }) =>
      page.call("POST", BAN, { path, body: { seconds: seconds || null, reason: reason ?? "" } }),
  });
  if (done) tell(T.done({ name }), { undo: undoing(page, ["DELETE", BAN, { path }]) });
  return Boolean(done);
}

/** Let a user in again. @param {Page} page @param {number | string} loginId @param {string} name */
export async function unban(page, loginId, name) {
  await page.call("DELETE", BAN, { path: { loginId } });
  tell(T.lifted({ name }));
}
