// @ts-check
/** Creates a role, perhaps as a copy, or edits one. */
import { h } from "../core/dom.js";
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { lasting } from "../parts/lasting.js";
import { agreed } from "../parts/preview.js";
import { ACTION } from "../strings/common.js";
import { ROLES as T } from "../strings/roles.js";

const ONE = "/api/role/{id}";

/**
 * @typedef {Pick<import("../types/api").Role,
 *   "roleName" | "description" | "maxDuration" | "reasonRequired" | "enabled">} Values
 */

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  if (page.params.id) await edit(page);
  else await create(page);
}

/** @param {import("../core/page.js").Page} page */
async function create(page) {
  const copied = page.query.get("copy");
  const path = { id: copied ?? "" };
  const [{ data: source }, { data: given }] = copied
    ? await Promise.all([
        page.call("GET", ONE, { path }),
        page.call("GET", "/api/role/{id}/permissions", { path }),
      ])
    : [{ data: null }, { data: null }];
  page.crumbs(["/roles", T.title]);
  page.title(source ? T.copyTitle(source.roleName) : T.newRole);
  page.put(
    given && h("p", null, T.copyText(given.permissions.length)),
    form({
      subject: ({ roleName }) => T.subject(roleName),
      fields: fields(
        {
          roleName: source ? T.copyOf(source.roleName) : "",
          description: source?.description ?? null,
          maxDuration: source?.maxDuration ?? null,
          reasonRequired: source?.reasonRequired ?? false,
          enabled: true,
        },
        true,
      ),
      submit: ACTION.create,
      save: async (values, { key, form: shown }) => {
        const body = /** @type {any} */ (given ? { ...values, menuIds: given.menuIds } : values);
        const { data } = await page.call("POST", "/api/role", { body, key });
        shown.clean();
        tell(T.made(data.roleName));
        page.go(`/roles/${data.id}`);
      },
      cancel: () => page.go("/roles"),
    }),
  );
}

/** @param {import("../core/page.js").Page} page */
async function edit(page) {
  const path = { id: page.params.id };
  const pick = (/** @type {Values} */ { roleName, description, maxDuration, reasonRequired, enabled }) => ({
    roleName,
    description,
    maxDuration,
    reasonRequired,
    enabled,
  });
  /** @type {Values} */ let stored = {
    roleName: "",
    description: null,
    maxDuration: null,
    reasonRequired: false,
    enabled: true,
  };
  const made = await merging({
    read: async () => {
      const answer = await page.call("GET", ONE, { path });
      stored = pick(answer.data);
      return answer;
    },
    pick,
    form: (role) => ({
      subject: () => T.subject(role.roleName),
      fields: fields(role, false),
      cancel: () => page.go(`/roles/${role.id}`),
    }),
    write: async (body, { etag }) => {
      const write = (/** @type {boolean} */ dryRun) =>
        page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun });
      if (body.enabled === stored.enabled) return write(false);
      const on = body.enabled;
      return agreed({
        title: on ? T.enableTitle(stored.roleName) : T.disableTitle(stored.roleName),
        confirm: ACTION.save,
        text: on ? T.enableText : T.disableText,
        danger: !on,
        write,
      });
    },
    saved: ({ data }) => {
      tell(T.saved(data.roleName));
      page.go(`/roles/${path.id}`);
    },
  });
  page.crumbs(["/roles", T.title], [`/roles/${path.id}`, stored.roleName]);
  page.title(T.editTitle(stored.roleName));
  page.put(made);
}

/**
 * @param {Values} role
 * @param {boolean} fresh
 * @returns {import("../parts/form.js").Field[]}
 */
function fields(role, fresh) {
  return [
    { name: "roleName", label: T.name, required: true, value: role.roleName, attributes: { maxlength: 64 } },
    ...(fresh
      ? [
          {
            name: "roleCode",
            label: T.code,
            required: true,
            help: T.codeHelp,
            attributes: { maxlength: 64, spellcheck: "false" },
          },
        ]
      : []),
    {
      name: "description",
      label: T.description,
      type: "textarea",
      value: role.description,
      attributes: { maxlength: 1000 },
    },
    {
      name: "maxDuration",
      label: T.maxDuration,
      type: "custom",
      help: T.maxDurationHelp,
      control: lasting("maxDuration", role.maxDuration),
    },
    { name: "reasonRequired", label: T.reasonRequired, type: "check", value: role.reasonRequired },
    { name: "enabled", label: T.enabledState, type: "check", value: role.enabled, help: T.enabledHelp },
  ];
}
