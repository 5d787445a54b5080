// @ts-check
/** What is done with many users at once. */
import { button } from "../core/dom.js";
import { BULK, USERS } from "../strings/users.js";
import { ask } from "./dialog.js";
import { attempt } from "./preview.js";
import { allRoles, roleText } from "./roles.js";
import { roleName } from "./seed.js";
import { Selection } from "./selection.js";

const STATUS = "/api/user/bulk/status";
const ROLE = "/api/user/bulk/role";
const SESSIONS = "/api/user/bulk/end-sessions";

/**
 * Return the bar of what the caller may do with the users who are chosen, hidden while there are none; null if the
 * caller may do nothing of it. `choose` takes the ids, and `key` returns that of a user; null for the reader's own.
 * @param {Page} page
 * @returns {{
 *   element: HTMLElement,
 *   choose: Selection["choose"],
 *   key: (user: import("./users.js").User) => number | null,
 * } | null}
 */
export function bulkBar(page) {
  const edits = page.may(`POST ${STATUS}`);
  const kicks = page.may(`POST ${SESSIONS}`);
  if (!edits && !kicks) return null;
  const selection = new Selection(page, BULK.actions, (made) => [
    edits && [
      button(USERS.enable, () => setStatus(made, "enabled")),
      button(USERS.disable, () => setStatus(made, "disabled")),
    ],
    page.may(`POST ${ROLE}`) && [
      button(BULK.giveRole, () => changeRole(made, "give")),
      button(BULK.takeRole, () => changeRole(made, "take")),
    ],
    kicks && button(BULK.endSessions, () => endSessions(made)),
  ]);
  return {
    element: selection.element,
    key: ({ id, userName }) => {
      selection.names.set(id, userName);
      return id === page.me.id ? null : id;
    },
    choose: selection.choose.bind(selection),
  };
}

/** @param {Selection} selection @param {"enabled" | "disabled"} status */
function setStatus(selection, status) {
  const { page, ids } = selection;
  const on = status === "enabled";
  return selection.act({
    counts: BULK.counts,
    title: (on ? BULK.enableTitle : BULK.disableTitle)({ users: BULK.users({ n: ids.length }) }),
    confirm: on ? USERS.enable : USERS.disable,
    done: on ? BULK.enabled : BULK.disabled,
    danger: !on,
    sessions: on ? undefined : USERS.ends,
    write: (batch, dryRun) => page.call("POST", STATUS, { body: { ids: batch, status }, dryRun }),
  });
}

/** @param {Selection} selection @param {"give" | "take"} action */
function changeRole(selection, action) {
  const { page, ids } = selection;
  const gives = action === "give";
  const title = (gives ? BULK.giveTitle : BULK.takeTitle)({ users: BULK.users({ n: ids.length }) });
  return attempt(title, async () => {
    const roles = await allRoles(page);
    const options = roles.map((role) => [role.id, roleText(role)]);
    await ask({
      title,
      confirm: BULK.preview,
      extra: [{ name: "roleId", label: USERS.role, type: "select", required: true, options }],
      act: ({ roleId }, { box }) => {
        const name = roleName(/** @type {any} */ (roles.find(({ id }) => id === roleId)));
        return selection.done({
          box,
          counts: BULK.counts,
          title,
          confirm: gives ? BULK.giveRole : BULK.takeRole,
          done: ({ n }) => (gives ? BULK.given : BULK.taken)({ n, role: name }),
          danger: !gives,
          write: (batch, dryRun) => page.call("POST", ROLE, { body: { ids: batch, roleId, action }, dryRun }),
        });
      },
    });
  });
}

/** @param {Selection} selection */
function endSessions(selection) {
  const { page, ids } = selection;
  return selection.act({
    counts: BULK.counts,
    title: BULK.endTitle({ users: BULK.users({ n: ids.length }) }),
    confirm: BULK.endSessions,
    done: BULK.ended,
    danger: true,
    sessions: USERS.ends,
    write: (batch, dryRun) => page.call("POST", SESSIONS, { body: { ids: batch }, dryRun }),
  });
}
