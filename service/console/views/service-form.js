// @ts-check
/** Registers another service, or edits how its router reads requests. */
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { agreed } from "../parts/preview.js";
import { ACTION } from "../strings/common.js";
import { SERVICES as T } from "../strings/services.js";

const ONE = "/api/service/{id}";
/** Edits of these change which resource decides a request. */
const RIGHTS = ["ignoreCase", "ignoreTrailingSlash", "allowPreflight"];

/** @typedef {import("../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  page.crumbs(["/services", T.title]);
  if (page.params.id) await edit(page);
  else create(page);
}

/** @param {Page} page */
function create(page) {
  page.title(T.add);
  page.put(
    form({
      subject: ({ name }) => T.subject(name),
      fields: [
        {
          name: "name",
          label: T.name,
          required: true,
          help: T.nameHelp,
          attributes: { maxlength: 32, spellcheck: "false", autocapitalize: "none" },
        },
        ...fields({}),
      ],
      submit: ACTION.create,
      save: async (body, { key, form: shown }) => {
        const { data } = await page.call("POST", "/api/service", { body: /** @type {any} */ (body), key });
        shown.clean();
        tell(T.made(data.name));
        page.go(`/services/${data.id}`);
      },
      cancel: () => page.go("/services"),
    }),
  );
}

/** @param {Page} page */
async function edit(page) {
  const path = { id: page.params.id };
  const pick = (/** @type {any} */ service) =>
    Object.fromEntries(["description", ...RIGHTS].map((name) => [name, service[name]]));
  /** @type {any} */ let stored;
  const made = await merging({
    read: async () => {
      const answer = await page.call("GET", ONE, { path });
      stored = answer.data;
      return answer;
    },
    pick,
    form: (service) => ({
      subject: () => T.subject(service.name),
      fields: fields(service),
      cancel: () => page.go(`/services/${service.id}`),
    }),
    write: async (body, { etag }) => {
      const write = (/** @type {boolean} */ dryRun) =>
        page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun });
      if (RIGHTS.every((name) => body[name] === stored[name])) return write(false);
      return agreed({ title: T.saveTitle(stored.name), confirm: ACTION.save, write });
    },
    saved: ({ data }) => {
      tell(T.saved(data.name));
      page.go(`/services/${data.id}`);
    },
  });
  page.crumbs(["/services", T.title], [`/services/${path.id}`, stored.name]);
  page.title(T.editTitle(stored.name));
  page.put(made);
}

/** @param {Partial<import("../types/api").Service>} service @returns {import("../parts/form.js").Field[]} */
function fields({ description, ignoreCase, ignoreTrailingSlash, allowPreflight }) {
  return [
    {
      name: "description",
      label: T.description,
      type: "textarea",
      value: description,
      attributes: { maxlength: 1000 },
    },
    { name: "ignoreCase", label: T.ignoreCase, type: "check", value: ignoreCase, help: T.ignoreCaseHelp },
    {
      name: "ignoreTrailingSlash",
      label: T.ignoreTrailingSlash,
      type: "check",
      value: ignoreTrailingSlash,
      help: T.ignoreTrailingSlashHelp,
    },
    {
      name: "allowPreflight",
      label: T.allowPreflight,
      type: "check",
      value: allowPreflight,
      help: T.allowPreflightHelp,
    },
  ];
}
