// @ts-check
/** Roles, as forms, lists and files have them. */
import { badge, h } from "../core/dom.js";
import { shownNumber } from "../core/locale.js";
import { lasting } from "../parts/lasting.js";
import { roleDescription, roleName } from "../parts/seed.js";
import { time } from "../parts/time.js";
import { ROLES as T } from "../strings/roles.js";

/** Return the state of a role, if it is unusual. @param {{enabled: boolean}} role */
export function stateOf({ enabled }) {
  return !enabled && badge(T.disabledState, "warn");
}

/** @type {Record<keyof import("../types/api").ImportedRole, import("../parts/declared.js").Declared>} */
const fields = {
  roleCode: {
    label: T.code,
    required: true,
    once: true,
    code: true,
    most: 64,
    help: T.codeHelp,
    column: { cell: ({ roleCode }) => h("code", null, roleCode) },
    example: "reporter",
  },
  roleName: { label: T.name, required: true, most: 64, column: { cell: roleName }, example: "Reporter" },
  description: {
    label: T.description,
    type: "textarea",
    most: 1000,
    column: { sort: undefined, cell: roleDescription },
    example: "Reads the list of roles",
  },
  enabled: {
    label: T.enabledState,
    type: "check",
    help: T.enabledHelp,
    initial: true,
    rights: true,
    column: { title: T.state, cell: stateOf },
    filter: { label: T.state, words: [T.enabledState, T.disabledState] },
    example: "true",
  },
  maxDuration: {
    label: T.maxDuration,
    type: "custom",
    help: T.maxDurationHelp,
    make: (seconds) => ({ control: lasting("maxDuration", seconds) }),
    example: "28800",
  },
  reasonRequired: { label: T.reasonRequired, type: "check", initial: false, example: "true" },
  personalKeys: {
    label: T.personalKeys,
    type: "check",
    help: T.personalKeysHelp,
    initial: true,
    example: "true",
  },
  maxDelegation: {
    label: T.maxDelegation,
    type: "custom",
    help: T.maxDelegationHelp,
    make: (seconds) => ({ control: lasting("maxDelegation", seconds) }),
    example: "172800",
  },
  permissions: { label: T.gives, example: "system:role:list system:role:export" },
};

/** @type {import("../parts/declared.js").Kind} */
export const ROLE = {
  api: "/api/role",
  view: "/roles",
  name: "roleName",
  shown: (role) => roleName(role),
  texts: T,
  fields,
  form: [
    "roleName",
    "roleCode",
    "description",
    "maxDuration",
    "reasonRequired",
    "personalKeys",
    "maxDelegation",
    "enabled",
  ],
  columns: [
    "roleName",
    "roleCode",
    "description",
    {
      title: T.members,
      kind: "number",
      cell: ({ userCount }) => (userCount === null || userCount === undefined ? "" : shownNumber(userCount)),
    },
    { title: T.gives, kind: "number", cell: ({ permissionCount }) => shownNumber(permissionCount) },
    "enabled",
    { title: T.updated, sort: "updateTime", cell: (role) => time(role.updateTime, { ago: true, day: true }) },
  ],
  filters: [
    "roleName",
    "roleCode",
    "enabled",
    ({ seesUsers }) =>
      seesUsers
        ? { name: "hasUser", label: T.members, type: "whether", words: [T.someMember, T.nobody] }
        : null,
  ],
  files: "roles",
  previewed: ({ enabled: on }, role) => ({
    title: (on ? T.enableTitle : T.disableTitle)({ name: roleName(/** @type {any} */ (role)) }),
    text: on ? T.enableText : T.disableText,
    danger: !on,
  }),
};
