// @ts-check
/** What is done with many users at once: each act is previewed for all of them together. */
import { Problem } from "../core/api.js";
import { button, h } from "../core/dom.js";
import { TABLE } from "../strings/table.js";
import { BULK, USERS } from "../strings/users.js";
import { ask, tell } from "./dialog.js";
import { attempt, previewed } from "./preview.js";
import { allRoles } from "./users.js";

/** @typedef {import("../core/page.js").Page} Page */

/** The names of users who have been listed, by id: a refusal names places among the ids. @type {Map<number, string>} */
const names = new Map();

const STATUS = "/api/user/bulk/status";
const ROLE = "/api/user/bulk/role";
const SESSIONS = "/api/user/bulk/end-sessions";

/**
 * Return the bar of what the caller may do with the users who are chosen, hidden while there are none; null if the
 * caller may do nothing of it. `choose` takes the ids, and `key` returns that of a user; null for the reader's own.
 * @param {Page} page
 * @returns {{
 *   element: HTMLElement,
 *   choose: (ids: Set<number>) => void,
 *   key: (user: import("./users.js").User) => number | null,
 * } | null}
 */
export function bulkBar(page) {
  /** @type {number[]} */ let ids = [];
  const edits = page.may(`POST ${STATUS}`);
  const kicks = page.may(`POST ${SESSIONS}`);
  if (!edits && !kicks) return null;
  const counted = h("span", { role: "status" });
  const element = h(
    "div",
    { class: "bar", role: "group", "aria-label": BULK.actions, hidden: true },
    counted,
    h(
      "div",
      { class: "actions" },
      edits && [
        button(USERS.enable, () => setStatus(page, ids, "enabled")),
        button(USERS.disable, () => setStatus(page, ids, "disabled")),
      ],
      page.may(`POST ${ROLE}`) && [
        button(BULK.giveRole, () => changeRole(page, ids, "give")),
        button(BULK.takeRole, () => changeRole(page, ids, "take")),
      ],
      kicks && button(BULK.endSessions, () => endSessions(page, ids)),
    ),
  );
  return {
    element,
    key: ({ id, userName }) => {
      names.set(id, userName);
      return id === page.me.id ? null : id;
    },
    choose: (chosen) => {
      ids = [...chosen];
      element.hidden = ids.length === 0;
      counted.textContent = TABLE.selected(ids.length);
    },
  };
}

/** @param {Page} page @param {number[]} ids @param {"enabled" | "disabled"} status */
function setStatus(page, ids, status) {
  const on = status === "enabled";
  return act(page, ids, {
    title: (on ? BULK.enableTitle : BULK.disableTitle)(BULK.users(ids.length)),
    confirm: on ? USERS.enable : USERS.disable,
    danger: !on,
    write: (dryRun) => page.call("POST", STATUS, { body: { ids, status }, dryRun }),
  });
}

/** @param {Page} page @param {number[]} ids @param {"give" | "take"} action */
function changeRole(page, ids, action) {
  const gives = action === "give";
  const title = (gives ? BULK.giveTitle : BULK.takeTitle)(BULK.users(ids.length));
  return attempt(title, async () => {
    const roles = await allRoles(page);
    const order = await ask({
      title,
      confirm: BULK.preview,
      extra: [
        {
          name: "roleId",
          label: USERS.role,
          type: "select",
          required: true,
          options: roles.map(({ id, roleName }) => [String(id), roleName]),
        },
      ],
    });
    if (!order) return;
    const body = { ids, roleId: Number(order.roleId), action };
    await act(page, ids, {
      title,
      confirm: gives ? BULK.giveRole : BULK.takeRole,
      danger: !gives,
      write: (dryRun) => page.call("POST", ROLE, { body, dryRun }),
    });
  });
}

/** @param {Page} page @param {number[]} ids */
function endSessions(page, ids) {
  return act(page, ids, {
    title: BULK.endTitle(BULK.users(ids.length)),
    confirm: BULK.endSessions,
    danger: true,
    write: (dryRun) => page.call("POST", SESSIONS, { body: { ids }, dryRun }),
  });
}

/**
 * Preview an act, do it if the reader agrees, and show the list anew. A refusal names the users whom it is about.
 * @param {Page} page
 * @param {number[]} ids
 * @param {Omit<Parameters<typeof previewed>[0], "more">} change
 */
function act(page, ids, change) {
  return attempt(change.title, async () => {
    const answer = await previewed({
      ...change,
      write: (dryRun) => change.write(dryRun).catch((problem) => Promise.reject(named(problem, ids))),
      more: ({ changed, unchanged }) => h("p", null, BULK.counts(changed, unchanged)),
    });
    if (!answer) return;
    tell(BULK.done(answer.data.changed));
    await page.reload();
  });
}

/** Return a refusal with the names of users in place of their places. @param {unknown} problem @param {number[]} ids */
function named(problem, ids) {
  if (!(problem instanceof Problem)) return problem;
  problem.violations = problem.violations.map(({ row, ...violation }) => ({
    ...violation,
    field: (row && names.get(ids[row - 1])) || violation.field,
  }));
  return problem;
}
