// @ts-check
/** Creates a user, or edits one. */
import { badge, linkButton } from "../core/dom.js";
import { LONGEST_USER_NAME } from "../core/session.js";
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { invite } from "../parts/invitations.js";
import { picker } from "../parts/picker.js";
import { agreed } from "../parts/preview.js";
import { allRoles } from "../parts/users.js";
import { ACTION } from "../strings/common.js";
import { FORM } from "../strings/form.js";
import { ORIGINS } from "../strings/providers.js";
import { USERS as T } from "../strings/users.js";

const ONE = "/api/user/{id}";
/** What a directory decides that manages the account. */
const MANAGED = new Set(["userName", "nickName", "email", "phone"]);

/** @typedef {import("../core/page.js").Page} Page */
/** @typedef {Awaited<ReturnType<typeof allRoles>>} Roles */

/** @param {Page} page */
export async function show(page) {
  const roles = await allRoles(page);
  if (page.params.id) await edit(page, roles);
  else create(page, roles);
}

/** @param {Page} page @param {Roles} roles */
function create(page, roles) {
  const service = page.query.get("kind") === "service";
  page.crumbs(["/users", T.title]);
  page.title(
    service ? T.newService : T.newUser,
    !service && linkButton("/users/new?kind=service", T.newService),
  );
  page.put(
    form({
      subject: ({ userName }) => T.subject(userName),
      fields: [
        ...fields({ kind: service ? "service" : "person", roleIds: [] }, roles).slice(0, 2),
        ...(service
          ? []
          : [
              {
                name: "password",
                label: T.password,
                type: "password",
                help: T.passwordHelp,
                attributes: { autocomplete: "new-password" },
              },
            ]),
        ...fields({ kind: service ? "service" : "person", roleIds: [] }, roles).slice(2),
        { name: "enabled", label: T.mayLogIn, type: "check", value: true },
      ],
      submit: ACTION.create,
      save: async ({ enabled, password, ...values }, { key, form: shown }) => {
        const body = /** @type {any} */ ({
          ...values,
          ...(service ? {} : password ? { password } : { invite: true }),
          kind: service ? "service" : "person",
          status: enabled ? "enabled" : "disabled",
        });
        const { data } = await page.call("POST", "/api/user", { body, key });
        shown.clean();
        tell(T.madeUser(data.userName));
        if (data.invited) await invite(page, data);
        page.go(`/users/${data.id}`);
      },
      cancel: () => page.go("/users"),
    }),
  );
}

/** @param {Page} page @param {Roles} roles */
async function edit(page, roles) {
  const path = { id: page.params.id };
  /** @type {Record<string, any>} */ let base = {};
  let name = "";
  const names = new Map(roles.map(({ id, roleName }) => [id, roleName]));
  const made = await merging({
    read: async () => {
      const answer = await page.call("GET", ONE, { path });
      base = picked(answer.data);
      name = answer.data.userName;
      for (const { id, roleName } of answer.data.roles) names.set(id, roleName);
      return answer;
    },
    pick: picked,
    form: (user) => ({
      subject: () => T.subject(user.userName),
      fields: fields({ ...user, roleIds: base.roleIds }, roles),
      cancel: () => page.go(`/users/${user.id}`),
    }),
    text: (field, value) =>
      field === "roleIds"
        ? value.map((/** @type {number} */ id) => names.get(id)).join(", ") || FORM.empty
        : undefined,
    write: (values, { etag }) => saved(page, path, name, changed(values, base), etag),
    saved: () => {
      tell(T.saved(name));
      page.go(`/users/${path.id}`);
    },
  });
  page.crumbs(["/users", T.title], [`/users/${path.id}`, name]);
  page.title(T.editTitle(name));
  page.put(made);
}

/**
 * Save what has changed; where it is the roles, after the reader has seen who gains and loses what.
 * @param {Page} page
 * @param {{id: string}} path
 * @param {string} name
 * @param {Record<string, any>} body
 * @param {string | null} etag
 */
async function saved(page, path, name, body, etag) {
  const write = (/** @type {boolean} */ dryRun) =>
    page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun });
  if (!("roleIds" in body)) return write(false);
  return agreed({ title: T.rolesTitle(name), text: T.rolesText, confirm: ACTION.save, write });
}

/** @param {Record<string, any>} values @param {Record<string, any>} base */
function changed(values, base) {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(base[name])),
  );
}

/** @param {import("../parts/users.js").User} user @returns {Record<string, any>} */
function picked({ userName, nickName, email, phone, gender, avatar, service, kind, roles }) {
  const roleIds = roles.map((role) => role.id).sort((a, b) => a - b);
  return {
    userName,
    nickName,
    email,
    phone,
    gender,
    avatar,
    ...(kind === "service" ? { service } : {}),
    roleIds,
  };
}

/** @param {Record<string, any>} user @param {Roles} roles @returns {import("../parts/form.js").Field[]} */
function fields(user, roles) {
  /** @type {import("../parts/form.js").Field[]} */ const all = [
    {
      name: "userName",
      label: T.userName,
      required: true,
      value: user.userName,
      help: T.userNameHelp,
      attributes: { maxlength: LONGEST_USER_NAME, spellcheck: "false" },
    },
    {
      name: "nickName",
      label: T.nickName,
      required: true,
      value: user.nickName,
      help: T.nickNameHelp,
      attributes: { maxlength: 64 },
    },
    { name: "email", label: T.email, type: "email", value: user.email },
    { name: "phone", label: T.phone, type: "tel", value: user.phone },
    {
      name: "gender",
      label: T.gender,
      type: "select",
      value: user.gender,
      options: Object.entries(T.genders),
    },
    { name: "avatar", label: T.avatar, value: user.avatar, help: T.avatarHelp },
    ...(user.kind === "service"
      ? [{ name: "service", label: T.service, value: user.service, help: T.serviceHelp }]
      : []),
    {
      name: "roleIds",
      label: T.roles,
      type: "custom",
      help: T.rolesHelp,
      control: choice(roles, user.roleIds),
    },
  ];
  if (!user.directory) return all;
  const help = ORIGINS.managed(user.directory);
  return all.map((field) => (MANAGED.has(field.name) ? { ...field, readonly: true, help } : field));
}

/**
 * Return the choice among the roles; it keeps those that are newer than this page.
 * @param {Roles} roles @param {number[]} given
 */
function choice(roles, given) {
  const chosen = picker(
    roles.map(({ id, roleName, roleCode, enabled }) => ({
      key: id,
      text: roleName,
      note: [roleCode, !enabled && [" ", badge(T.statuses.disabled, "warn")]],
    })),
    given,
  );
  const newer = (/** @type {number[]} */ ids) => ids.filter((id) => !roles.some((role) => role.id === id));
  let kept = newer(given);
  return {
    ...chosen,
    get: () => [...kept, ...chosen.get()].sort((a, b) => a - b),
    set: (/** @type {number[]} */ ids) => {
      kept = newer(ids);
      chosen.set(ids);
    },
  };
}
