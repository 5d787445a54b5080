// @ts-check
/** What was done to a record, as the operation log has it. */
import { OPERATIONS } from "../strings/operations.js";
import { operationColumns } from "./logs.js";
import { listing } from "./table.js";

const LEFT_OUT = [OPERATIONS.targets, OPERATIONS.decision];

/**
 * Return the list of the entries about a record, without previews.
 * @param {import("../core/page.js").Page} page
 * @param {string} target Its name in the log, such as `role:clerk`.
 */
export function history(page, target) {
  return listing(page, {
    caption: OPERATIONS.caption,
    columns: operationColumns().filter(({ title }) => !LEFT_OUT.includes(title)),
    load: async (query) =>
      (await page.call("GET", "/api/operation-log/list", { query: { ...query, target, dryRun: "false" } }))
        .data,
    row: (entry) => (page.may("GET /api/operation-log/{id}") ? `/logs/operations/${entry.id}` : null),
    empty: OPERATIONS.none,
  });
}
