// @ts-check
/** Who could get to act as the owner of an account, and who confirms that this is somebody else. */
import { button, h } from "../core/dom.js";
import { enumerated } from "../strings/common.js";
import { USERS as T } from "../strings/users.js";
import { rows } from "./block.js";
import { settled } from "./dialog.js";
import { table } from "./rows.js";
import { time, timeText } from "./time.js";

const CONFIRM = "/api/user/{id}/owner/verification";

/**
 * Return in one line what users of other accounts did to an account; nothing where they did nothing.
 * @param {Page} page
 * @param {import("./users.js").User} user
 */
export async function takeovers(page, user) {
  const { data } = await page.call("GET", "/api/user/{id}/takeovers", { path: { id: user.id } });
  if (!data.takeovers.length) return null;
  const names = enumerated([...new Set(data.takeovers.map(({ userName }) => userName ?? T.takeoverGone))]);
  const until = timeText(data.takeovers.reduce((end, each) => (each.until > end ? each.until : end), ""));
  const listed = table(
    T.takeovers,
    [T.takeoverBy, T.takeoverAct, T.takeoverTime, T.takeoverUntil],
    data.takeovers.map(({ userName, act, time: at, until: end }) => [
      userName ?? T.takeoverGone,
      T.takeoverActs[act] ?? act,
      time(at),
      time(end),
    ]),
  );
  const involved = data.takeovers.some(({ userName }) => userName === page.me.name);
  const text = h(
    "details",
    null,
    h("summary", null, T.samePerson({ names, until })),
    h("p", null, T.takeoversText),
    involved && h("p", null, T.ownerByOthers),
    listed,
  );
  const confirms = !involved && user.id !== page.me.id && page.may(`POST ${CONFIRM}`);
  return rows([{ text, act: confirms && button(T.confirmOwner, () => confirm(page, user, names)) }]);
}

/** @param {Page} page @param {import("./users.js").User} user @param {string} names */
async function confirm(page, { id, userName }, names) {
  await settled(page, T.ownerConfirmed({ name: userName }), {
    title: T.confirmOwnerTitle({ name: userName }),
    text: T.confirmOwnerText({ names }),
    confirm: T.confirmOwner,
    act: () => page.call("POST", CONFIRM, { path: { id } }),
  });
}
