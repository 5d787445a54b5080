// @ts-check
/** Who has a role: a list, to add users to and to remove them from, after a preview. */
import { button } from "../core/dom.js";
import { ROLES as T } from "../strings/roles.js";
import { USERS } from "../strings/users.js";
import { assign, demands } from "./assignments.js";
import { chosen } from "./chooser.js";
import { attempt, saving, undoing } from "./preview.js";
import { roleName } from "./seed.js";
import { listing } from "./table.js";
import { stateOf } from "./users.js";

const ONE = "/api/user/{id}";
const ALL = "/api/user/{id}/roles";

/** @typedef {import("./users.js").User} User */

/** @param {Page} page @param {import("../types/api").Role} role */
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
          button(T.removeMember, () => change(user, false), {
            "aria-label": T.removeOne({ user: user.userName }),
          })
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
      if (!user) return;
      if (demands(role) && page.may("POST /api/user/{id}/roles"))
        await assign(page, user, { roles: [role], role });
      else await change(user, true);
    });
  }

  /** Give the role to a user, or take it, after the preview. @param {User} user @param {boolean} on */
  function change(user, on) {
    const names = { user: user.userName, role: roleName(role) };
    const title = (on ? T.addTitle : T.removeTitle)(names);
    const before = user.roles.map(({ id }) => id);
    const roleIds = on ? [...before, role.id] : before.filter((id) => id !== role.id);
    const path = { id: user.id };
    return attempt(title, async () => {
      const windows = on ? [] : await assigned(page, user, role);
      await saving(list, {
        title,
        confirm: on ? T.addMember : T.removeMember,
        danger: !on,
        write: (dryRun) =>
          page.call("PATCH", ONE, { path, body: { roleIds }, ifMatch: `"${user.version}"`, dryRun }),
        done: (on ? T.addedMember : T.removedMember)(names),
        undo: ({ etag }) => {
          /** @type {[string, string, import("../client/types.js").Options][]} */ const back = on
            ? [["PATCH", ONE, { path, body: { roleIds: before }, ifMatch: etag }]]
            : windows.map((body) => ["POST", ALL, { path, body }]);
          return back.length ? undoing(page, ...back) : undefined;
        },
      });
    });
  }

  return list;
}

/**
 * Return what gives a role back to a user once it is taken: its assignments, each with its end and its reason. Nothing
 * if the caller may not read or make them: then the role does not come back without its end.
 * @param {Page} page
 * @param {User} user
 * @param {import("../types/api").Role} role
 */
async function assigned(page, { id }, role) {
  if (!page.may(`GET ${ALL}`) || !page.may(`POST ${ALL}`)) return [];
  const { data } = await page.call("GET", ALL, { path: { id }, query: { size: 200 } });
  return data.items
    .filter(({ roleId }) => roleId === role.id)
    .map(({ from, until, reason }) => ({
      roleId: role.id,
      from: from && Date.parse(from) > Date.now() ? from : null,
      until,
      reason,
    }));
}
