// @ts-check
/** One other service: what is stored, its public access, and the way to its resources. */
import { button, card, definition, linkButton } from "../core/dom.js";
import { deleting } from "../parts/declared.js";
import { history } from "../parts/history.js";
import { openings } from "../parts/openings.js";
import { record } from "../parts/record.js";
import { related } from "../parts/related.js";
import { edited, time } from "../parts/time.js";
import { SERVICE, routerOf } from "../records/service.js";
import { ACTION, RECORD } from "../strings/common.js";
import { SERVICES as T } from "../strings/services.js";

const ONE = "/api/service/{id}";

/** @param {Page} page */
export async function show(page) {
  const { data: service, etag } = await page.call("GET", ONE, { path: { id: page.params.id } });
  await record(page, {
    base: `/services/${service.id}`,
    crumbs: [["/services", T.title]],
    title: service.name,
    primary:
      page.may("PATCH /api/service/{id}") &&
      linkButton(`/services/${service.id}/edit`, ACTION.edit, { icon: "edit" }),
    acts: [
      page.may("DELETE /api/service/{id}") &&
        button(ACTION.delete, () => deleting(page, SERVICE, service, etag), {
          kind: "danger",
          icon: "trash",
        }),
    ],
    tabs: [
      {
        path: "",
        text: T.openings,
        show: () => page.may("GET /api/opening/list") && card("", openings(page, service.name)),
      },
      {
        path: "history",
        text: RECORD.history,
        show: () => history(page, `service:${service.name}`, service),
      },
    ],
    aside: card(
      T.facts,
      definition([
        [T.description, service.description],
        [T.router, routerOf(service)],
        [T.created, time(service.createTime)],
        [T.updated, edited(service)],
      ]),
      related(page, ["GET /api/resource/list", `/resources?service=${service.name}`, T.resources, "link"]),
    ),
  });
}
