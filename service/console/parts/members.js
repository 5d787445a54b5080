// @ts-check
/** Who has a role: a list, to add users to and to remove them from, after a preview. */
import { button } from "../core/dom.js";
import { ROLES as T } from "../strings/roles.js";
import { USERS } from "../strings/users.js";
import { chosen } from "./chooser.js";
import { tell } from "./dialog.js";
import { attempt, previewed, undoing } from "./preview.js";
import { listing } from "./table.js";
import { stateOf } from "./users.js";

const ONE = "/api/user/{id}";

/** @typedef {import("./users.js").User} User */

/**
 * @param {import("../core/page.js").Page} page
 * @param {import("../types/api").Role} role
 */
export function members(page, role) {
  const edits = page.may("PATCH /api/user/{id}");
  const find = async (/** @type {Record<string, any>} */ query) =>
    (await page.call("GET", "/api/user/list", { query })).data;
  const has = (/** @type {User} */ user) => user.roles.some(({ id }) => id === role.id);
  const list = listing(page, {
    caption: T.members,
    filters: [{ name: "keyword", label: USERS.keyword }],
    columns: [
      { title: USERS.userName, sort: "userName", cell: (user) => user.userName },
      { title: USERS.nickName, sort: "nickName", cell: (user) => user.nickName },
      { title: USERS.status, sort: "status", cell: stateOf },
    ],
    row: (user) => (page.may("GET /api/user/{id}") ? `/users/${user.id}` : null),
    load: (query) => find({ ...query, roleId: role.id }),
    actions: [edits && button(T.addMember, add, { icon: "plus" })],
    buttons: edits
      ? (user) =>
          button(T.removeMember, () => change(user, false), { "aria-label": T.removeOne(user.userName) })
      : undefined,
    empty: T.noMembers,
  });

  function add() {
    return attempt(T.addMember, async () => {
      const user = await chosen({
        title: T.addMember,
        label: USERS.keyword,
        find: (keyword, size) => find({ keyword, size, sort: "userName" }),
        fits: (candidate) => !has(candidate),
        words: ({ userName, nickName }) => [userName, nickName],
      });
      if (user) await change(user, true);
    });
  }

  /** Give the role to a user, or take it, after the preview. @param {User} user @param {boolean} on */
  function change(user, on) {
    const title = (on ? T.addTitle : T.removeTitle)(user.userName, role.roleName);
    const before = user.roles.map(({ id }) => id);
    const roleIds = on ? [...before, role.id] : before.filter((id) => id !== role.id);
    const path = { id: user.id };
    return attempt(title, async () => {
      const done = await previewed({
        title,
        confirm: on ? T.addMember : T.removeMember,
        danger: !on,
        write: (dryRun) =>
          page.call("PATCH", ONE, { path, body: { roleIds }, ifMatch: `"${user.version}"`, dryRun }),
      });
      if (!done) return;
      tell((on ? T.addedMember : T.removedMember)(user.userName, role.roleName), {
        undo: undoing(page, ["PATCH", ONE, { path, body: { roleIds: before }, ifMatch: done.etag }]),
      });
      await list.reload();
    });
  }

  return list;
}
