// @ts-check
/** Registers a resource, or edits one. */
import { tell } from "../parts/dialog.js";
import { form, merging } from "../parts/form.js";
import { agreed } from "../parts/preview.js";
import { OWN, serviceOptions, suggested } from "../parts/resources.js";
import { paths } from "../parts/suggestions.js";
import { ACTION } from "../strings/common.js";
import { RESOURCES as T } from "../strings/resources.js";
import { DEMANDS } from "../strings/step-up.js";

const ONE = "/api/resource/{id}";
const NAMES = [
  "resourceName",
  "resourceCode",
  "method",
  "path",
  "description",
  "enabled",
  "assurance",
  "services",
];
/** Edits of these change who may do what. */
const RIGHTS = ["method", "path", "enabled", "assurance", "services"];

/** @typedef {import("../core/page.js").Page} Page */

/** @param {Page} page */
export async function show(page) {
  page.crumbs(["/resources", T.title]);
  if (page.params.id) await edit(page);
  else await create(page);
}

/** @param {Page} page */
async function create(page) {
  const services = await serviceOptions(page);
  const { method = "GET", path = "", service = OWN } = Object.fromEntries(page.query);
  const resource = { method, path, enabled: true, ...(path ? suggested(service, method, path) : {}) };
  page.title(T.newTitle);
  const made = form({
    subject: ({ resourceName }) => T.subject(resourceName),
    fields: [
      ...fields(page, resource, () => made.values()),
      {
        name: "service",
        label: T.service,
        type: services ? "select" : "text",
        required: true,
        value: service,
        options: services ?? [],
        help: T.serviceHelp,
      },
    ],
    submit: T.register,
    save: async (body, { key, form: shown }) => {
      const done = await agreed({
        title: T.makeTitle(body.resourceName),
        text: T.makeText,
        confirm: T.register,
        write: (dryRun) =>
          page.call("POST", "/api/resource", { body: /** @type {any} */ (body), dryRun, key }),
      });
      shown.clean();
      tell(T.made(done.data.resourceName));
      page.go(`/resources/${done.data.id}`);
    },
    cancel: () => page.go("/resources"),
  });
  page.put(made);
}

/** @param {Page} page */
async function edit(page) {
  const path = { id: page.params.id };
  const pick = (/** @type {any} */ resource) =>
    Object.fromEntries(NAMES.map((name) => [name, resource[name]]));
  /** @type {Record<string, any>} */ let stored = {};
  const made = await merging({
    read: async () => {
      const answer = await page.call("GET", ONE, { path });
      stored = pick(answer.data);
      return answer;
    },
    pick,
    form: (resource) => ({
      subject: () => T.subject(resource.resourceName),
      fields: fields(page, resource, () => ({ ...resource, ...made.values() })),
      cancel: () => page.go(`/resources/${resource.id}`),
    }),
    write: async (body, { etag }) => {
      const write = (/** @type {boolean} */ dryRun) =>
        page.call("PATCH", ONE, { path, body, ifMatch: etag, dryRun });
      if (RIGHTS.every((name) => body[name] === stored[name])) return write(false);
      return agreed({ title: T.saveTitle(stored.resourceName), confirm: ACTION.save, write });
    },
    editor: (resource) => resource.updatedBy ?? null,
    saved: ({ data }) => {
      tell(T.saved(data.resourceName));
      page.go(`/resources/${data.id}`);
    },
  });
  page.title(T.editTitle(stored.resourceName));
  page.put(made);
}

/**
 * @param {Page} page @param {any} resource
 * @param {() => Record<string, any>} values Returns what the form has.
 * @returns {import("../parts/form.js").Field[]}
 */
function fields(page, resource, values) {
  return [
    {
      name: "resourceName",
      label: T.name,
      required: true,
      value: resource.resourceName,
      help: T.nameHelp,
      attributes: { maxlength: 128 },
    },
    {
      name: "resourceCode",
      label: T.code,
      required: true,
      value: resource.resourceCode,
      help: T.codeHelp,
      attributes: { maxlength: 64, spellcheck: "false" },
    },
    {
      name: "method",
      label: T.method,
      type: "select",
      required: true,
      value: resource.method,
      options: ["GET", "POST", "PUT", "PATCH", "DELETE"],
    },
    {
      name: "path",
      label: T.path,
      required: true,
      value: resource.path,
      help: T.pathHelp,
      attributes: { spellcheck: "false" },
      wrap: paths(page, values),
    },
    {
      name: "description",
      label: T.description,
      type: "textarea",
      value: resource.description,
      attributes: { maxlength: 1000 },
    },
    {
      name: "assurance",
      label: T.assurance,
      type: "select",
      options: DEMANDS,
      unset: T.noDemand,
      value: resource.assurance,
      help: T.assuranceHelp,
    },
    {
      name: "services",
      label: T.services,
      type: "check",
      value: resource.services,
      help: T.servicesHelp,
    },
    { name: "enabled", label: T.enabledState, type: "check", value: resource.enabled, help: T.enabledHelp },
  ];
}
