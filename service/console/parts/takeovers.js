// @ts-check
/** Who could get to act as the owner of an account, and who confirms that this is somebody else. */
import { actions, button, h } from "../core/dom.js";
import { USERS as T } from "../strings/users.js";
import { settled } from "./dialog.js";
import { table } from "./rows.js";
import { time } from "./time.js";

const CONFIRM = "/api/user/{id}/owner/verification";

/**
 * Return what users of other accounts did to an account; nothing where they did nothing.
 * @param {Page} page
 * @param {import("./users.js").User} user
 */
export async function takeovers(page, user) {
  const { data } = await page.call("GET", "/api/user/{id}/takeovers", { path: { id: user.id } });
  if (!data.takeovers.length) return null;
  return [
    h("p", null, T.takeoversText),
    table(
      T.takeovers,
      [T.takeoverBy, T.takeoverAct, T.takeoverTime, T.takeoverUntil],
      data.takeovers.map(({ userName, act, time: at, until }) => [
        userName ?? T.takeoverGone,
        T.takeoverActs[act] ?? act,
        time(at),
        time(until),
      ]),
    ),
    user.id !== page.me.id &&
      page.may(`POST ${CONFIRM}`) &&
      actions(button(T.confirmOwner, () => confirm(page, user), { icon: "check" })),
  ];
}

/** @param {Page} page @param {import("./users.js").User} user */
async function confirm(page, { id, userName }) {
  await settled(page, T.ownerConfirmed({ name: userName }), {
    title: T.confirmOwnerTitle({ name: userName }),
    text: T.confirmOwnerText,
    confirm: T.confirmOwner,
    act: () => page.call("POST", CONFIRM, { path: { id } }),
  });
}
