// @ts-check
/** All other services: filter, pages, and the way to each. */
import { badge, badges, empty, h, linkButton } from "../core/dom.js";
import { listing } from "../parts/table.js";
import { edited } from "../parts/time.js";
import { SERVICES as T } from "../strings/services.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  page.title(
    T.title,
    page.may("POST /api/service") && linkButton("/services/new", T.add, { icon: "plus", kind: "primary" }),
  );
  page.put(
    h("p", null, T.text),
    listing(page, {
      caption: T.title,
      filters: [{ name: "name", label: T.name }],
      columns: [
        { title: T.name, sort: "name", cell: (service) => service.name },
        { title: T.description, cell: (service) => service.description },
        { title: T.router, cell: routerOf },
        { title: T.updated, sort: "updateTime", cell: edited },
      ],
      row: (service) => (page.may("GET /api/service/{id}") ? `/services/${service.id}` : null),
      empty: empty(T.none),
      load: async (query) => (await page.call("GET", "/api/service/list", { query })).data,
    }),
  );
}

/** Return how the router of a service reads requests, in badges. @param {import("../types/api").Service} service */
export function routerOf({ ignoreCase, ignoreTrailingSlash, allowPreflight }) {
  return badges(
    ignoreCase && badge(T.ignoreCase),
    ignoreTrailingSlash && badge(T.ignoreTrailingSlash),
    allowPreflight && badge(T.allowPreflight, "warn"),
    !ignoreCase && !ignoreTrailingSlash && !allowPreflight && T.exact,
  );
}
