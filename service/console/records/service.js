// @ts-check
/** Other services, as forms and lists have them. */
import { badge, badges } from "../core/dom.js";
import { edited } from "../parts/time.js";
import { SERVICES as T } from "../strings/services.js";

/** Return how a service matches paths, in badges. @param {import("../types/api").Service} service */
export function routerOf({ ignoreCase, ignoreTrailingSlash, allowPreflight }) {
  return badges(
    ignoreCase && badge(T.ignoreCase),
    ignoreTrailingSlash && badge(T.ignoreTrailingSlash),
    allowPreflight && badge(T.allowPreflight, "warn"),
    !ignoreCase && !ignoreTrailingSlash && !allowPreflight && T.exact,
  );
}

/** How a service matches paths decides which resource decides a request. */
const ROUTER = { type: "check", rights: true };

/** @type {import("../parts/declared.js").Kind} */
export const SERVICE = {
  api: "/api/service",
  view: "/services",
  name: "name",
  texts: T,
  fields: {
    name: { label: T.name, required: true, once: true, most: 32, code: true, help: T.nameHelp },
    description: { label: T.description, type: "textarea", most: 1000, column: { sort: undefined } },
    ignoreCase: { label: T.ignoreCase, help: T.ignoreCaseHelp, ...ROUTER },
    ignoreTrailingSlash: { label: T.ignoreTrailingSlash, help: T.ignoreTrailingSlashHelp, ...ROUTER },
    allowPreflight: { label: T.allowPreflight, help: T.allowPreflightHelp, ...ROUTER },
  },
  form: ["name", "description", "ignoreCase", "ignoreTrailingSlash", "allowPreflight"],
  columns: [
    "name",
    "description",
    { title: T.router, cell: routerOf },
    { title: T.updated, sort: "updateTime", cell: edited },
  ],
  filters: ["name"],
};
