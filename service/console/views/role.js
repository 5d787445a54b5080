// @ts-check
/** One role: what it gives, who has it, what it may do, and what was done to it. */
import { button, card, definition, linkButton } from "../core/dom.js";
import { access } from "../parts/access.js";
import { copyable } from "../parts/copy.js";
import { deleting, toggle } from "../parts/declared.js";
import { history } from "../parts/history.js";
import { members } from "../parts/members.js";
import { permissions } from "../parts/permissions.js";
import { requestRule } from "../parts/request-rule.js";
import { record } from "../parts/record.js";
import { edited, time } from "../parts/time.js";
import { ROLE, stateOf } from "../records/role.js";
import { roleDescription, roleName } from "../parts/seed.js";
import { RULE } from "../strings/request-rule.js";
import { ACTION, RECORD } from "../strings/common.js";
import { ROLES as T } from "../strings/roles.js";
import { duration } from "../strings/words.js";

const ONE = "/api/role/{id}";

/** @param {Page} page */
export async function show(page) {
  const path = { id: page.params.id };
  const { data: role, etag } = await page.call("GET", ONE, { path });
  const edits = page.may("PATCH /api/role/{id}");
  await record(page, {
    base: `/roles/${role.id}`,
    crumbs: [["/roles", T.title]],
    title: roleName(role),
    state: stateOf(role),
    primary: edits && linkButton(`/roles/${role.id}/edit`, ACTION.edit, { icon: "edit" }),
    acts: [
      page.may("POST /api/role") && linkButton(`/roles/new?copy=${role.id}`, T.copy, { icon: "plus" }),
      edits && button(role.enabled ? T.disable : T.enable, () => toggle(page, ROLE, role, etag)),
      page.may("DELETE /api/role/{id}") &&
        button(ACTION.delete, () => deleting(page, ROLE, role, etag), { kind: "danger", icon: "trash" }),
    ],
    tabs: [
      { path: "", text: T.gives, show: async () => card("", (await permissions(page, path))(role)) },
      { path: "members", text: T.members, show: () => members(page, role) },
      { path: "access", text: RECORD.access, show: () => access(page, { roleCode: role.roleCode }) },
      { path: "asking", text: RULE.tab, show: () => requestRule(page, role) },
      { path: "history", text: RECORD.history, show: () => history(page, `role:${role.roleCode}`, role) },
    ],
    aside: card(
      T.facts,
      definition([
        [T.code, copyable(role.roleCode)],
        [T.description, roleDescription(role)],
        [T.maxDuration, role.maxDuration && duration(role.maxDuration)],
        [T.reason, role.reasonRequired && T.reasonNeeded],
        [T.keys, !role.personalKeys && T.noKeys],
        [T.maxDelegation, role.maxDelegation && duration(role.maxDelegation)],
        [T.created, time(role.createTime)],
        [T.updated, edited(role)],
      ]),
    ),
  });
}
