// @ts-check
/** The roles of a user as assignments: from when until when, why, and who has decided. Given, changed and ended. */
import { actions, badge, button, definition, empty, h } from "../core/dom.js";
import { ACTION } from "../strings/common.js";
import { ASSIGNMENTS as T } from "../strings/assignments.js";
import { ORIGINS } from "../strings/providers.js";
import { ask, dialog, tell } from "./dialog.js";
import { merging } from "./form.js";
import { ending } from "./lasting.js";
import { agreed, attempt, saving, undoing } from "./preview.js";
import { allRoles, roleNames, roleText, shownRole } from "./roles.js";
import { roleName } from "./seed.js";
import { roleCodes } from "./suggestions.js";
import { listing } from "./table.js";
import { coming, time } from "./time.js";

const ALL = "/api/user/{id}/roles";
const ONE = "/api/user/{id}/roles/{assignmentId}";
/** Within how many milliseconds an end is soon: seven days. */
const SOON = 7 * 86_400_000;

/** @typedef {import("../types/api").Role} Role */
/** @typedef {import("../types/api").AssignmentOfUser} Assignment */
/** @typedef {import("../types/api").Assignment & Partial<Assignment>} Shown Where only what has not ended is listed. */
/** @typedef {{id: number, userName: string}} Holder */

/**
 * Return the list of what is assigned to a user, with what the caller may do about it.
 * @param {Page} page
 * @param {Holder} user
 */
export function assignments(page, user) {
  const others = user.id !== page.me.id;
  const changes = others && page.may(`GET ${ONE}`) && page.may(`PATCH ${ONE}`);
  const ends = others && page.may(`DELETE ${ONE}`);
  return listing(page, {
    caption: T.ofUser,
    filters: [{ name: "ended", label: T.withEnded, type: "check" }],
    actions: [
      others &&
        page.may(`POST ${ALL}`) &&
        button(T.assign, () => assign(page, user), { icon: "plus", kind: "primary" }),
    ],
    columns: [
      {
        title: T.role,
        cell: shownRole,
      },
      { title: T.from, cell: (item) => [begun(item), " ", h("small", null, decided(item, !item.from))] },
      { title: T.until, cell: endOf },
      { title: T.reason, cell: ({ reason }) => reason },
    ],
    row: ({ roleId, how }) => (!how && page.may("GET /api/role/{id}") ? `/roles/${roleId}` : null),
    buttons:
      changes || ends
        ? (item) =>
            !item.how &&
            actions(
              changes &&
                button(T.change, () => change(page, user, item), {
                  "aria-label": T.changeOne({ role: item.roleName }),
                  ...given(item),
                }),
              ends &&
                button(T.end, () => end(page, user, item), {
                  "aria-label": T.endOne({ role: item.roleName }),
                  ...given(item),
                }),
            )
        : undefined,
    load: async (query) => {
      const [{ data }, roles] = await Promise.all([
        page.call("GET", ALL, { path: { id: user.id }, query }),
        roleNames(page),
      ]);
      return { ...data, items: data.items.map((item) => ({ ...item, roleName: roles.name(item.roleCode) })) };
    },
    empty: empty(T.none),
  });
}

/** Return what a button has for a role that a directory has given, and takes away. @param {Shown} assignment */
function given({ directory }) {
  return directory === null ? {} : { disabled: true, title: ORIGINS.given({ name: directory }) };
}

/** Return from when on a role is assigned. @param {Shown} assignment */
export function begun({ from, createTime }) {
  return time(from ?? createTime) ?? T.always;
}

/** Return until when, and what is unusual about it. @param {Shown} assignment */
export function endOf({ from, until, how, endTime, endedBy }) {
  if (how)
    return [
      time(endTime),
      " ",
      badge(T.how[how]),
      endedBy && [" ", h("small", null, T.by({ name: endedBy }))],
    ];
  const now = Date.now();
  return [
    coming(until) ?? T.noEnd,
    " ",
    from && Date.parse(from) > now && badge(T.begins, "info"),
    " ",
    until && Date.parse(until) < now + SOON && badge(T.soon, "warn"),
  ];
}

/**
 * Return who has decided on an assignment, and when.
 * @param {Shown} assignment
 * @param {boolean} [known] Whether it is known already when that was.
 */
export function decided({ source, directory, createTime, createdBy }, known = false) {
  return [
    source !== "direct" && `${T.sources[source]} `,
    directory && [h("strong", null, directory), " "],
    createdBy && T.by({ name: createdBy }),
    " ",
    !known && time(createTime),
  ];
}

/**
 * Ask which role a user is to have, from when until when and why, and assign it after the preview.
 * @param {Page} page
 * @param {Holder} user
 * @param {{roles?: Role[], role?: Role, reason?: string}} [known] The roles to choose from, the likeliest, the reason.
 */
export function assign(page, user, { roles: known, role, reason } = {}) {
  return attempt(T.assignTitle({ user: user.userName }), async () => {
    const path = { id: user.id };
    const roles = known ?? (page.may("GET /api/role/list") ? await allRoles(page) : null);
    /** @type {Role | undefined} */ let chosen = role;
    const choose = (/** @type {Role | undefined} */ given) => {
      chosen = given;
    };
    /** @type {any} */ let done;
    let name = role ? roleName(role) : "";
    await ask({
      title: T.assignTitle({ user: user.userName }),
      confirm: T.preview,
      extra: [
        roles ? roleChoice(roles, role, choose) : roleCode(page),
        ...windowFields({ reason }, () => chosen?.maxDuration),
      ],
      act: async (body, { key, box }) => {
        name = chosen ? roleName(chosen) : body.roleCode;
        done = await agreed({
          box,
          title: T.confirmTitle({ role: name, user: user.userName }),
          text: body.from && T.later,
          more: () => windowOf(body),
          confirm: T.assign,
          write: (dryRun) => page.call("POST", ALL, { path, body, key, dryRun }),
        });
      },
    });
    if (!done) return;
    const { id: assignmentId, roleCode: given, version } = done.data;
    const taken = { path: { ...path, assignmentId }, ifMatch: `"${version}"` };
    tell(T.assigned({ role: name || given, user: user.userName }), {
      undo: undoing(page, ["DELETE", ONE, taken]),
    });
    await page.reload();
  });
}

/**
 * Return the field that chooses a role, and says what that role demands of its assignments.
 * @param {Role[]} roles
 * @param {Role | undefined} role
 * @param {(role: Role | undefined) => void} choose
 */
function roleChoice(roles, role, choose) {
  const options = /** @type {[number | null, string][]} */ (roles.map((each) => [each.id, roleText(each)]));
  return {
    name: "roleId",
    label: T.role,
    type: "select",
    required: true,
    value: role?.id,
    options: role ? options : [/** @type {[null, string]} */ ([null, T.choose]), ...options],
    wrap: (/** @type {HTMLInputElement} */ select) => {
      const note = h("p", { class: "help", "aria-live": "polite" });
      const say = () => {
        const [id] = (role ? options : [[null], ...options])[Number(select.value)];
        const given = roles.find((each) => each.id === id);
        note.textContent = demands(given);
        choose(given);
      };
      select.addEventListener("change", say);
      say();
      return h("div", null, select, note);
    },
  };
}

/** Return the field for the code of a role, for callers who may not list roles. @param {Page} page */
function roleCode(page) {
  return {
    name: "roleCode",
    label: T.role,
    required: true,
    code: true,
    wrap: roleCodes(page),
  };
}

/** Return what a role demands of its assignments, in words. @param {Role | undefined} role */
export function demands(role) {
  return [role?.maxDuration && T.maxDuration(role.maxDuration), role?.reasonRequired && T.reasonRequired]
    .filter(Boolean)
    .join(" ");
}

/**
 * @param {{from?: string | null, until?: string | null, reason?: string | null}} values
 * @param {() => number | null | undefined} longest Returns how many seconds the role lasts at most.
 * @returns {import("./form.js").Field[]}
 */
function windowFields({ from, until, reason }, longest) {
  return [
    { name: "from", label: T.from, type: "datetime", value: from, help: T.fromHelp },
    {
      name: "until",
      label: T.until,
      type: "datetime",
      value: until,
      help: T.untilHelp,
      wrap: (input) => ending(input, longest),
    },
    {
      name: "reason",
      label: T.reason,
      type: "textarea",
      value: reason,
      help: T.reasonHelp,
      most: 500,
      attributes: { rows: "2" },
    },
  ];
}

/** Return from when until when a role is given, and why, for a preview. @param {Record<string, any>} values */
function windowOf({ from, until, reason }) {
  return definition([
    [T.from, time(from)],
    [T.until, coming(until) ?? T.noEnd],
    [T.reason, reason],
  ]);
}

/** @param {Page} page @param {Holder} user @param {Assignment & {roleName: string}} assignment */
function change(page, user, { id: assignmentId, roleName: name }) {
  const path = { id: user.id, assignmentId };
  const title = T.changeTitle({ role: name, user: user.userName });
  return attempt(title, async () => {
    /** @type {Record<string, any>} */ let base = {};
    /** @type {(saved?: boolean) => void} */ let close = () => {};
    const made = await merging({
      read: async () => {
        const answer = await page.call("GET", ONE, { path });
        base = picked(answer.data);
        return answer;
      },
      pick: picked,
      form: (assignment) => ({
        subject: () => T.subject({ role: name }),
        fields: windowFields(assignment, () => null),
        submit: T.preview,
        cancel: () => close(),
        quiet: true,
        trailing: true,
      }),
      write: async (values, { etag }) => {
        const body = Object.fromEntries(
          Object.entries(values).filter(([name, value]) => value !== base[name]),
        );
        if (!Object.keys(body).length) return;
        await agreed({
          box: shown,
          title: T.saveTitle({ role: name, user: user.userName }),
          more: () => windowOf(values),
          confirm: ACTION.save,
          write: (dryRun) => page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun }),
        });
        tell(T.changed({ role: name, user: user.userName }));
      },
      saved: () => close(true),
    });
    const shown = dialog(title, made);
    close = shown.close;
    if (await shown.closed) await page.reload();
  });
}

/** Return the values of an assignment as its form has them: times to the minute. @param {Assignment} assignment */
function picked({ from, until, reason }) {
  return { from: minute(from), until: minute(until), reason };
}

/** @param {string | null} iso */
function minute(iso) {
  return iso && new Date(Math.floor(Date.parse(iso) / 60_000) * 60_000).toISOString();
}

/** @param {Page} page @param {Holder} user @param {Assignment & {roleName: string}} assignment */
function end(page, user, { id: assignmentId, roleName: name, version }) {
  const path = { id: user.id, assignmentId };
  return saving(page, {
    title: T.endTitle({ role: name, user: user.userName }),
    text: T.endText,
    confirm: T.end,
    danger: true,
    write: (dryRun) => page.call("DELETE", ONE, { path, ifMatch: `"${version}"`, dryRun }),
    done: T.ended({ role: name, user: user.userName }),
  });
}
