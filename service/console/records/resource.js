// @ts-check
/** Resources, as forms and lists have them. */
import { badge } from "../core/dom.js";
import { picker } from "../parts/picker.js";
import { requestLine } from "../parts/request-line.js";
import { OWN } from "../parts/resources.js";
import { resourceName } from "../parts/seed.js";
import { paths } from "../parts/suggestions.js";
import { time } from "../parts/time.js";
import { RESOURCES as T } from "../strings/resources.js";
import { demandOptions } from "../strings/step-up.js";

/** Return the state of a resource or a Button, if it is unusual. @param {{enabled: boolean}} record */
export function stateOf({ enabled }) {
  return !enabled && badge(T.disabledState, "warn");
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Return a choice of a service, a text where they are too many.
 * @param {[string, string][] | null | undefined} services
 */
const among = (services) => ({ type: services ? "select" : "text", options: services ?? [] });

/** @type {import("../parts/declared.js").Kind["fields"]} */
const fields = {
  service: {
    label: T.service,
    required: true,
    once: true,
    initial: OWN,
    help: T.serviceHelp,
    make: (_, { known }) => among(known.services),
  },
  method: { label: T.method, type: "select", required: true, options: METHODS, initial: "GET", rights: true },
  path: {
    label: T.path,
    required: true,
    code: true,
    help: T.pathHelp(),
    rights: true,
    make: (_, { page, values }) => ({ wrap: paths(page, values) }),
    column: { title: T.request, cell: ({ method, path }) => requestLine(method, path) },
  },
  resourceName: {
    label: T.name,
    required: true,
    most: 128,
    help: T.nameHelp,
    column: { cell: resourceName },
  },
  resourceCode: { label: T.code, required: true, most: 64, code: true, help: T.codeHelp },
  menuIds: {
    label: T.buttons,
    type: "custom",
    once: true,
    help: T.bindHelp,
    when: ({ known }) => Boolean(known.buttons),
    make: (_, { known }) => ({ control: picker(known.buttons, [], known.missing) }),
  },
  description: { label: T.description, type: "textarea", most: 1000 },
  assurance: {
    label: T.assurance,
    type: "select",
    options: demandOptions(),
    unset: T.noDemand,
    help: T.assuranceHelp,
    rights: true,
  },
  services: { label: T.services, type: "check", help: T.servicesHelp, rights: true },
  enabled: {
    label: T.enabledState,
    type: "check",
    help: T.enabledHelp,
    initial: true,
    rights: true,
    column: { title: T.state, cell: stateOf },
    filter: { label: T.state, words: [T.enabledState, T.disabledState], more: true },
  },
};

/** @type {import("../parts/declared.js").Kind} */
export const RESOURCE = {
  api: "/api/resource",
  view: "/resources",
  name: "resourceName",
  shown: (resource) => resourceName(resource),
  texts: T,
  fields,
  form: [
    ...["service", "method", "path", "resourceName", "resourceCode", "menuIds"],
    ...["description", "assurance", "services", "enabled"],
  ],
  columns: [
    "resourceName",
    "path",
    { title: T.service, sort: "service", cell: ({ service }) => service },
    "enabled",
    {
      title: T.updated,
      sort: "updateTime",
      cell: ({ updateTime }) => time(updateTime, { ago: true, day: true }),
    },
  ],
  filters: [
    (services) => ({ name: "service", label: T.service, ...among(services) }),
    "path",
    "method",
    "resourceName",
    { name: "resourceCode", label: T.code, more: true },
    "enabled",
    { name: "closed", label: T.closedOnly, type: "check", more: true },
  ],
};
