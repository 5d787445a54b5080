// @ts-check
/** The second factors of a user, and their reset by an administrator. */
import { actions, button, empty } from "../core/dom.js";
import { USERS as T } from "../strings/users.js";
import { settled } from "./dialog.js";
import { table } from "./rows.js";
import { time } from "./time.js";

/** @param {Page} page @param {import("./users.js").User} user */
export async function factors(page, user) {
  const { data } = await page.call("GET", "/api/user/{id}/factors", { path: { id: user.id } });
  if (!data.items.length) return empty(T.noFactors);
  return [
    table(
      T.factors,
      [T.factor, T.factorName, T.created, T.factorUsed],
      data.items.map(({ kind, name, createTime, lastUsedTime }) => [
        T.factorKinds[kind] ?? kind,
        name,
        time(createTime),
        lastUsedTime ? time(lastUsedTime) : T.never,
      ]),
    ),
    page.may("DELETE /api/user/{id}/factors") &&
      actions(button(T.resetFactors, () => reset(page, user), { kind: "danger" })),
  ];
}

/** @param {Page} page @param {import("./users.js").User} user */
async function reset(page, user) {
  await settled(page, T.factorsReset({ name: user.userName }), {
    title: T.resetFactorsTitle({ name: user.userName }),
    text: T.resetFactorsText,
    confirm: T.resetFactors,
    danger: true,
    act: () => page.call("DELETE", "/api/user/{id}/factors", { path: { id: user.id } }),
  });
}
