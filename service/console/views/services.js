// @ts-check
/** Other services whose requests the policy decides. */
import { badge, h, linkButton } from "../core/dom.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { S } from "../strings.js";

const T = S.services;

/** @typedef {import("../types/api").Service} Service */

/** @param {import("../core/router.js").Page} page */
export async function show(page) {
  page.title(T.title, page.may("POST /api/service") && linkButton("/services/new", T.add, { icon: "plus" }));
  page.put(h("p", null, T.text), listing({
    caption: T.title,
    filters: [{ name: "name", label: T.name }],
    columns: [
      { title: T.name, sort: "name", cell: (one) => one.name },
      { title: T.description, cell: (one) => one.description },
      { title: T.router, cell: words },
      { title: T.updated, sort: "updateTime", cell: (one) => time(one.updateTime) },
    ],
    row: (one) => (page.may("GET /api/service/{id}") ? `/services/${one.id}` : null),
    empty: T.none,
    load: async (query) => (await page.call("GET", "/api/service/list", { query })).data,
  }));
}

/** Return how the router of a service reads requests. @param {Service} service */
export function words({ ignoreCase, ignoreTrailingSlash, allowPreflight }) {
  return h("span", { class: "badges" }, ignoreCase && badge(T.ignoreCase), ignoreTrailingSlash && badge(T.ignoreTrailingSlash), allowPreflight && badge(T.allowPreflight));
}
