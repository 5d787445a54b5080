// @ts-check
/** All resources: coverage at a glance, filters, pages, and the way to each. */
import { badge, card, empty, h, linkButton } from "../core/dom.js";
import { Problem } from "../client/portcullis.js";
import { requestLine } from "../parts/request-line.js";
import { glance, serviceOptions } from "../parts/resources.js";
import { trouble } from "../parts/trouble.js";
import { switching } from "../parts/selection.js";
import { listing } from "../parts/table.js";
import { time } from "../parts/time.js";
import { FRAME } from "../strings/frame.js";
import { RESOURCES as T } from "../strings/resources.js";

/** @param {import("../core/page.js").Page} page */
export async function show(page) {
  const services = await serviceOptions(page);
  const many = switching(page, "/api/resource/bulk/enabled", T.number, ({ resourceName }) => resourceName);
  page.title(
    T.title,
    page.may("POST /api/resource") && linkButton("/resources/new", T.add, { icon: "plus" }),
    page.may("POST /api/resource") && linkButton("/resources/import", T.import, { icon: "upload" }),
  );
  const coverage = page.may("GET /api/policy/coverage") && h("p", { class: "loading" }, FRAME.loading);
  page.put(
    coverage && card("", coverage),
    many.element,
    listing(page, {
      ...many.listed,
      caption: T.caption,
      filters: [
        { name: "service", label: T.service, type: services ? "select" : "text", options: services ?? [] },
        { name: "path", label: T.path },
        {
          name: "method",
          label: T.method,
          type: "select",
          options: ["GET", "POST", "PUT", "PATCH", "DELETE"],
        },
        { name: "resourceName", label: T.name },
        { name: "resourceCode", label: T.code, more: true },
        {
          name: "enabled",
          label: T.state,
          type: "select",
          options: [
            ["true", T.enabledState],
            ["false", T.disabledState],
          ],
          more: true,
        },
        { name: "closed", label: T.closedOnly, type: "check", more: true },
      ],
      columns: [
        { title: T.name, sort: "resourceName", cell: (resource) => resource.resourceName },
        {
          title: T.request,
          sort: "path",
          cell: (resource) => requestLine(resource.method, resource.path),
        },
        { title: T.service, sort: "service", cell: (resource) => resource.service },
        { title: T.state, sort: "enabled", cell: stateOf },
        { title: T.updated, sort: "updateTime", cell: (resource) => time(resource.updateTime) },
      ],
      row: (resource) => (page.may("GET /api/resource/{id}") ? `/resources/${resource.id}` : null),
      empty: empty(T.none),
      load: async (query) => (await page.call("GET", "/api/resource/list", { query })).data,
    }),
  );
  if (!coverage) return;
  try {
    coverage.replaceWith(
      glance((await page.call("GET", "/api/policy/coverage", { query: { size: 1 } })).data),
    );
  } catch (problem) {
    if (problem instanceof Problem) coverage.replaceWith(trouble(problem));
  }
}

/** Return the state of a resource or a Button, if it is unusual. @param {{enabled: boolean}} record */
export function stateOf({ enabled }) {
  return !enabled && badge(T.disabledState, "warn");
}
