// @ts-check
/** Users, as forms, lists and files have them. */
import { badge, few } from "../core/dom.js";
import { LONGEST_USER_NAME } from "../core/session.js";
import { picker } from "../parts/picker.js";
import { time } from "../parts/time.js";
import { roleFilter } from "../parts/roles.js";
import { roleName } from "../parts/seed.js";
import { lastLogin, stateOf } from "../parts/users.js";
import { enumerated } from "../strings/common.js";
import { FORM } from "../strings/form.js";
import { ORIGINS } from "../strings/providers.js";
import { SERVICE_ACCOUNTS, USERS as T } from "../strings/users.js";

/** @typedef {import("../types/api").Role} Role */
/** @typedef {import("../parts/declared.js").Shown} Shown */

const isService = (/** @type {Shown} */ { record }) => record.kind === "service";
const isPerson = (/** @type {Shown} */ shown) => !isService(shown);

/** A value that a directory decides where it manages the account. */
const MANAGED = {
  make: (/** @type {any} */ _, /** @type {Shown} */ { record: { directory } }) =>
    directory ? { readonly: true, help: ORIGINS.managed({ name: directory }) } : {},
};

/** @type {Record<keyof import("../types/api").ImportedUser, import("../parts/declared.js").Declared>} */
const FILED = {
  userName: {
    label: T.userName,
    required: true,
    most: LONGEST_USER_NAME,
    code: true,
    help: T.userNameHelp,
    filter: { more: true },
    example: "mira",
    make: (ids, shown) => (isService(shown) ? { help: T.serviceNameHelp } : MANAGED.make(ids, shown)),
  },
  nickName: {
    label: T.nickName,
    required: true,
    most: 64,
    help: T.nickNameHelp,
    filter: { more: true },
    example: "Mira Egret",
    ...MANAGED,
  },
  email: { label: T.email, type: "email", filter: { more: true }, example: "mira@example.org", ...MANAGED },
  phone: { label: T.phone, type: "tel", filter: { more: true }, example: "", ...MANAGED },
  gender: { label: T.gender, type: "select", options: Object.entries(T.genders), example: "" },
  avatar: { label: T.avatar, help: T.avatarHelp, example: "" },
  language: { label: T.language, example: "en" },
  timeZone: { label: T.timeZone, example: "" },
  status: {
    label: T.status,
    type: "select",
    options: Object.entries(T.statuses),
    column: { cell: stateOf },
    example: "enabled",
  },
  service: { label: T.service, help: T.serviceHelp, when: isService, example: "" },
  kind: { label: T.kind, type: "select", options: Object.entries(T.kinds), example: "person" },
  roles: {
    label: T.roles,
    column: {
      sort: undefined,
      cell: ({ roles }) => few(roles.map(roleName)),
    },
    example: "auditor",
  },
  password: {
    label: T.password,
    type: "password",
    required: true,
    once: true,
    when: isPerson,
    only: ({ first }) => first === "password",
    help: T.passwordHelp,
    attributes: { autocomplete: "new-password" },
    example: "",
  },
};

/** @satisfies {import("../parts/declared.js").Kind} */
export const USER = {
  api: "/api/user",
  view: "/users",
  of: kindOf,
  name: "userName",
  texts: T,
  fields: {
    ...FILED,
    first: {
      label: T.first,
      type: "choice",
      once: true,
      initial: "invite",
      options: Object.entries(T.firsts),
      when: isPerson,
    },
    roleIds: {
      label: T.roles,
      type: "custom",
      help: T.rolesHelp,
      initial: [],
      rights: true,
      make: (ids, { known }) => ({ control: choice(known, ids) }),
      worded: (ids, roles) =>
        enumerated(roles.filter((/** @type {Role} */ { id }) => ids.includes(id)).map(roleName)) ||
        FORM.empty,
    },
    enabled: { label: T.mayLogIn, type: "check", once: true, initial: true },
  },
  form: [
    ...["userName", "nickName", "first", "password", "email", "phone", "gender", "avatar", "service"],
    ...["roleIds", "enabled"],
  ],
  columns: [
    ...["userName", "nickName", "email", "roles", "status"],
    { title: T.lastLogin, sort: "lastLoginTime", cell: (user) => lastLogin(user, { ago: true, day: true }) },
    {
      title: T.created,
      sort: "createTime",
      kind: "wide",
      cell: (user) => time(user.createTime, { day: true }),
    },
  ],
  filters: [
    { name: "keyword", label: T.keyword },
    ...["userName", "nickName", "email", "phone", "status", "kind"],
    { name: "banned", label: T.banned, type: "whether" },
    { name: "secondFactor", label: T.factors, type: "whether", more: true },
    { name: "invited", label: T.invited, type: "whether", more: true },
    (roles) => roleFilter(T.role, roles),
    { name: "hasRole", label: T.roles, type: "whether", words: [T.someRole, T.noRoles], more: true },
    { name: "createTimeFrom", label: T.from, type: "date", more: true },
    { name: "createTimeTo", label: T.to, type: "date", more: true },
  ],
  files: "users",
  formed: (user, roles) => {
    // A role that is newer than this page is known by its user.
    for (const role of user.roles)
      if (!roles.some((/** @type {Role} */ { id }) => id === role.id)) roles.push(role);
    return { ...user, roleIds: user.roles.map((/** @type {Role} */ { id }) => id).sort(ascending) };
  },
  previewed: (_, { userName }) => ({ title: T.rolesTitle({ name: userName }), text: T.rolesText }),
};

/** Service accounts, which sign in with API keys alone. @type {import("../parts/declared.js").Kind} */
export const SERVICE_ACCOUNT = {
  ...USER,
  view: "/service-accounts",
  record: "/users",
  texts: { ...T, ...SERVICE_ACCOUNTS },
  form: ["userName", "nickName", "service", "roleIds", "email", "phone", "avatar", "enabled"],
  columns: ["userName", "nickName", "service", "roles", "status", ...USER.columns.slice(-1)],
  filters: [{ name: "keyword", label: T.keyword }, "status", ...USER.filters.slice(-4)],
  files: "service-accounts",
  imported: false,
};

/** Return what an account is. @param {{kind: string}} account @returns {import("../parts/declared.js").Kind} */
export function kindOf({ kind }) {
  return kind === "service" ? SERVICE_ACCOUNT : USER;
}

const ascending = (/** @type {number} */ a, /** @type {number} */ b) => a - b;

/**
 * Return the choice among the roles; it keeps those that are newer than this page.
 * @param {Role[]} roles @param {number[]} given
 */
function choice(roles, given) {
  const options = roles.map((role) => ({
    key: role.id,
    text: roleName(role),
    note: [role.roleCode, role.enabled === false && [" ", badge(T.statuses.disabled, "warn")]],
  }));
  const chosen = picker(options, given);
  const newer = (/** @type {number[]} */ ids) => ids.filter((id) => !options.some(({ key }) => key === id));
  let kept = newer(given);
  return {
    ...chosen,
    get: () => [...kept, ...chosen.get()].sort(ascending),
    set: (/** @type {number[]} */ ids) => {
      kept = newer(ids);
      chosen.set(ids);
    },
  };
}
