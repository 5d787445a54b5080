// @ts-check
/** Requests that need no role. */
import { badge, h } from "../../core/dom.js";
import { demanded, objectOf, passedBy, why } from "../../parts/policy.js";
import { requestOf } from "../../parts/request-line.js";
import { listing } from "../../parts/table.js";
import { POLICY as T } from "../../strings/policy.js";
import { RESOURCES } from "../../strings/resources.js";

/** @param {Page} page */
export async function show(page) {
  page.title(T.tab.openings);
  page.put(
    h("p", null, T.openingsText),
    listing(page, {
      caption: T.openingsCaption,
      size: 50,
      columns: [
        { title: RESOURCES.request, cell: (item) => objectOf(page, item.object) },
        { title: T.needs, cell: (item) => badge(T.need[item.needs], item.needs === "nothing" ? "warn" : "") },
        { title: T.layers["assurance"], cell: (item) => demanded(item.assurance) },
        { title: T.resourceLine, cell: (item) => passedBy(item.resource) },
        { title: T.endpointLine, cell: (item) => passedBy(item.endpoint) },
      ],
      buttons: (item) => {
        const request = requestOf(item.object);
        return (
          request && why(page, { ...request, permissions: item.needs === "login" ? " " : null }, item.object)
        );
      },
      load: async ({ page: number, size }) =>
        (await page.call("GET", "/api/policy/openings", { query: { page: number, size } })).data,
    }),
  );
}
