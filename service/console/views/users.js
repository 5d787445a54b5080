// @ts-check
/** All users, or the service accounts among them: filters, pages, and the way to each. */
import { bulkBar } from "../parts/bulk.js";
import { records } from "../parts/declared.js";
import { roleNames } from "../parts/roles.js";
import { SERVICE_ACCOUNT, USER } from "../records/user.js";

/** @param {Page} page */
export async function show(page) {
  const services = page.path === SERVICE_ACCOUNT.view;
  const bulk = bulkBar(page);
  records(page, services ? SERVICE_ACCOUNT : USER, {
    known: await roleNames(page),
    fixed: services ? { kind: "service" } : {},
    below: bulk?.element,
    list: { select: bulk?.key, chosen: bulk?.choose },
  });
}
